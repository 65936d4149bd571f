// Package check holds a cluster to rules: is it well, yes or no. Each rule is a
// function of a diagnosis with a threshold, and what breaks one is a Finding.
// What an operator does on purpose, or a balancer is at work on, can be excused:
// it is named, and does not fail.
package check
