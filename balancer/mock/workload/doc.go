// Package workload simulates the operations of an application on a collection: which keys it reads and
// writes how often, and how this changes over the day. It draws operations and counts them by chunk, but
// executes none.
package workload
