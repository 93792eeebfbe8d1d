package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"backstop/app"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Look at the configuration", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(configCheckCommand())
	return c
}

func configCheckCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and print the effective one, secrets hidden; exit 2 if it is wrong",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := app.New(c)
			if err != nil {
				return err
			}
			if err := a.CheckKeys(); err != nil {
				return err
			}
			show := a.Config.YAML
			if asJSON {
				show = a.Config.JSON
			}
			b, err := show()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), string(b))
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of YAML")
	return c
}
