// Package price compares the ways in which a collection can reach a goal: how long each takes, how much
// it copies, how much disk space it needs, what it blocks, and which one to choose. It computes
// everything from a Snapshot, and sends no commands.
package price
