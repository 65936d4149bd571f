// Package agent serves what shardsh can say about one cluster to agents: programs that
// speak the Model Context Protocol (MCP), such as assistants with a language model.
//
// Its tools are faces of the use cases in balancer/action, as the subcommands are. They
// only read, but for one: apply carries out a plan that a person has approved by its
// hash, and is there only where Options.Plans is set.
//
// What an agent sends is not trusted, and neither are the names in a cluster, which an
// agent might take for instructions: no tool takes an address, a path, a command or a
// program; arguments, answers, and the number and time of calls are bounded; characters
// that are not shown are spelled out. No tool returns documents of collections.
package agent
