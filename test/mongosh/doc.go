// Package mongosh tests the mock with the real mongosh: the recorded scenarios (balancer/live/suite/recorded)
// give the same answers as on the cluster that was recorded.
//
// The program does not use this package.
package mongosh
