// Command parrot is what the tests of package testkit start. It says its process
// ID and its variables, repeats what it reads, and exits with the status that it
// was given, or 7 on SIGTERM.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
)

func main() {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)

	fmt.Printf("parrot %d\n", os.Getpid())
	env := os.Environ()
	slices.Sort(env)
	for _, variable := range env {
		fmt.Println("has", variable)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Fprintln(os.Stderr, "heard", in.Text())
	}
	if len(os.Args) > 1 {
		status, err := strconv.Atoi(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		fmt.Print("last words without a line end")
		os.Exit(status)
	}
	<-terminated
	os.Exit(7)
}
