package diagnosis

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// counted returns a number of things; their name gets an s unless it is one.
func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// timesText is "once", "2 times" and so on.
func timesText(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// SpanText shows a span of time: in seconds, minutes, hours or days, by its length.
func SpanText(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	minutes := int(d.Round(time.Minute).Minutes())
	if minutes < 60 {
		return fmt.Sprintf("%d min", minutes)
	}
	if hours := minutes / 60; hours >= 48 {
		return fmt.Sprintf("%dd%02dh", hours/24, hours%24)
	}
	return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
}

// bytesText shows a size in the largest unit that it has one of.
func bytesText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	size, i := float64(n), 0
	for size >= 1024 && i < len(units)-1 {
		size, i = size/1024, i+1
	}
	if i == 0 || size == float64(int64(size)) {
		return fmt.Sprintf("%d %s", int64(size), units[i])
	}
	return fmt.Sprintf("%.1f %s", size, units[i])
}

// names turns ids into texts.
func names(ids []catalog.ShardID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return list
}

// isSet reports whether a field of a log counts as true: there, and neither
// false, null nor 0.
func isSet(v bson.RawValue) bool {
	switch v.Type {
	case 0, bson.TypeNull, bson.TypeUndefined:
		return false
	case bson.TypeBoolean:
		return v.Boolean()
	}
	n, isNumber := v.AsFloat64OK()
	return !isNumber || n != 0 && n == n
}

// BytesText shows a size in the largest unit that it has one of.
func BytesText(n int64) string { return bytesText(n) }
