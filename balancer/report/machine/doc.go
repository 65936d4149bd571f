// Package machine writes what checks found in the formats of other programs:
// JUnit, Prometheus, GitHub Actions, Nagios.
package machine
