// Package mixin has dashboards for Grafana, alerts and recording rules for what shardsh export
// tells Prometheus, and the tests that hold them to it.
package mixin
