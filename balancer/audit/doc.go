// Package audit writes down who changes a cluster: a line before each command is sent,
// and one with what became of it. Lines go to a file, to syslog, or to a capped
// collection of the cluster; from a file and a collection they can be read again.
//
// A line has who, from where, the verb, the plan and the command with its bounds. It has
// no credentials, no documents and no answers of the cluster but for errors.
package audit
