// Package agent serves the answers of shardsh about one cluster to agents: programs that speak the
// Model Context Protocol (MCP), such as assistants with a language model.
//
// Its tools use the actions in balancer/action, like the subcommands. All tools but one only read. The
// tool apply carries out a plan that a person has approved by its hash; it exists only if Options.Plans
// is set.
//
// The package trusts neither the input of an agent nor the names in a cluster, which an agent might
// interpret as instructions. No tool takes an address, a path, a command or a program. Arguments,
// answers, and the number and duration of calls are limited. Invisible characters are escaped. No tool
// returns documents of collections.
package agent
