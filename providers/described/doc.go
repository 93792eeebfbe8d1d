// Package described makes providers of descriptions in YAML: where an API is asked, by what,
// what its answers mean, and where in them the values are. docs/describing-a-provider.md is
// the manual. Some descriptions come with the program ([Shipped]).
//
// Files named …_parse.go read a part of a description and say what is wrong with it, by line;
// the file without that ending puts the part to use.
package described
