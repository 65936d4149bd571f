// Package call provides what all commands share: the fields of a command in progress, its limits and
// concerns, its query, cursor and session, its client, and the node that received it with the node's
// state. The packages that implement commands receive a Call and return the fields of the reply. They do
// not depend on each other.
package call
