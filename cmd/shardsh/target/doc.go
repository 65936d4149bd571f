// Package target is the way to a cluster that has an address: from the words of a
// command line to a connection string, with TLS and logins, and to a client that a
// server has greeted (rules/04-command-line-and-prompt §1.3, §1.4, §1.10).
package target
