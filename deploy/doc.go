// Package deploy holds the tests of what is deployed: the Dockerfile and
// docker-compose.yml at the top of the repository. They read both files and hold
// every command, flag, variable and port in them against the programs, so that
// neither can name what does not exist. They need no container engine.
package deploy
