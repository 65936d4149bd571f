// Package snaptest compares and generates snapshots of clusters, for tests.
package snaptest

import (
	"fmt"
	"reflect"
	"slices"

	"shardsh/balancer/catalog"
)

// Diff returns the differences of two snapshots, chunk by chunk and byte by byte; it returns nothing
// for equal snapshots. The routing tables may be divided into different blocks.
func Diff(got, want *catalog.Snapshot) []string {
	a, b := got.Parts(), want.Parts()
	var d diff
	d.collections(a.Collections, b.Collections)
	a.Collections, b.Collections = nil, nil
	d.fields("", reflect.ValueOf(a), reflect.ValueOf(b))
	return d.list
}

type diff struct{ list []string }

func (d *diff) add(format string, args ...any) { d.list = append(d.list, fmt.Sprintf(format, args...)) }

// fields compares structs field by field.
func (d *diff) fields(of string, a, b reflect.Value) {
	for i := range a.NumField() {
		name := of + a.Type().Field(i).Name
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !equalOrEmpty(x, y) {
			d.add("%s is %+v, want %+v", name, x, y)
		}
	}
}

// equalOrEmpty treats nil and empty slices and maps as equal.
func equalOrEmpty(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if k := x.Kind(); (k == reflect.Slice || k == reflect.Map) && x.Len() == 0 && y.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a, b)
}

func (d *diff) collections(a, b []*catalog.CollectionState) {
	names := func(list []*catalog.CollectionState) (names []string) {
		for _, c := range list {
			names = append(names, c.Namespace)
		}
		return names
	}
	if x, y := names(a), names(b); !slices.Equal(x, y) {
		d.add("collections are %q, want %q", x, y)
		return
	}
	for i := range a {
		x, y := *a[i], *b[i]
		d.table(x.Namespace, x.Table, y.Table)
		if !slices.EqualFunc(x.Zones.Ranges(), y.Zones.Ranges(), func(a, b catalog.ZoneRange) bool { return a == b }) {
			d.add("%s: zones are %v, want %v", x.Namespace, x.Zones.Ranges(), y.Zones.Ranges())
		}
		x.Table, y.Table, x.Zones, y.Zones = nil, nil, nil, nil
		d.fields(x.Namespace+": ", reflect.ValueOf(x), reflect.ValueOf(y))
	}
}

func (d *diff) table(ns string, a, b *catalog.RoutingTable) {
	if a == nil || b == nil {
		if a != b {
			d.add("%s: there is a routing table: %v, want %v", ns, a != nil, b != nil)
		}
		return
	}
	if a.Len() != b.Len() || a.Version() != b.Version() {
		d.add("%s: %d chunks at %s, want %d at %s", ns, a.Len(), a.Version(), b.Len(), b.Version())
		return
	}
	i := 0
	for chunk := range a.All() {
		if want := b.At(i); !reflect.DeepEqual(chunk, want) {
			d.add("%s: chunk %d is %+v, want %+v", ns, i, chunk, want)
			return
		}
		i++
	}
}
