// Package machine writes results of checks in the formats of other programs: JUnit, Prometheus, GitHub
// Actions, Nagios.
package machine
