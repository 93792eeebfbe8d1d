// Package providers says what a provider is: a source of data about people and companies,
// which is asked by calls and gives classified answers.
//
// It is the contract between those who ask (package chain) and those who are asked: the
// vendors with code of their own (vendors), those that a page of YAML describes (described),
// and what they are built on (httpjson, profile). sandbox imitates the APIs. The contract
// itself depends on neither HTTP nor YAML.
package providers
