// Package audit records who changes a cluster. It writes one entry before each command is sent, and one
// with the outcome of the command. Entries go to a file, to syslog, or to a capped collection of the
// cluster. They can be read back from a file and from a collection.
//
// An entry names the user, the host, the verb, the plan, and the command with its bounds. Entries hold
// no credentials, no documents and no replies of the cluster except errors.
package audit
