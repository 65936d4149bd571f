// Package target connects to a cluster with an address: it converts the words of a command line to a
// connection string, adds TLS and authentication, and returns a client whose server has replied to
// hello (rules/04-command-line-and-prompt §1.3, §1.4, §1.10).
package target
