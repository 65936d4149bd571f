// Package advisory holds known bugs of MongoDB servers that concern sharded clusters. It finds the bugs
// that concern a cluster, or the commands that a run is about to send to the cluster. The list is
// embedded in the program and has a date; users can add to the list with a file of their own.
package advisory
