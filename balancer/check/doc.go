// Package check checks a cluster against rules. Each rule is a function of a diagnosis with a
// threshold, and each violation is a Finding. A policy can excuse work that the operator does on
// purpose or that the balancer has not finished: such findings are reported, and do not fail the check.
package check
