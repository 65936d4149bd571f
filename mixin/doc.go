// Package mixin holds Grafana dashboards, alerts and recording rules for the metrics of "shardsh
// export", and tests that check them against these metrics.
package mixin
