// Package machine writes results of checks in the formats of other programs: WriteJUnit, Prometheus, WriteGitHub
// Actions, Nagios.
package machine
