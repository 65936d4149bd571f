package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/report"
)

// Order is the order of shards and collections.
type Order int

// The orders.
const (
	WorstFirst Order = iota
	ByData
	ByName
	ByChunks
	ByJumbo
	orderCount
)

var orderNames = [orderCount]string{"worst first", "by data", "by name", "by chunks", "by jumbo chunks"}

// Choice says which parts of a cluster are shown, and in which order.
type Choice struct {
	Order Order
	// Filter holds words; only elements that contain all of them are shown.
	Filter string
	// Typing says that the user is typing the filter.
	Typing bool
	// OpenCollection is the collection that is shown alone. Help says that the keys are shown.
	OpenCollection string
	Help           bool
}

// matchesFilter reports whether texts contain all words of the filter.
func (c Choice) matchesFilter(texts ...string) bool {
	text := strings.ToLower(strings.Join(texts, " "))
	for word := range strings.FieldsSeq(strings.ToLower(c.Filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// summary describes the choice in a few words; empty for the default.
func (c Choice) summary() string {
	var parts []string
	if c.Order != WorstFirst {
		parts = append(parts, orderNames[c.Order])
	}
	if c.Filter != "" {
		parts = append(parts, "/"+c.Filter)
	}
	return strings.Join(parts, " ")
}

// chosenShards returns the shards to show.
func (v View) chosenShards() []report.Shard {
	list := slices.DeleteFunc(slices.Clone(v.Current.Shards), func(s report.Shard) bool {
		return !v.matchesFilter(string(s.ID), s.Drain, s.Unreachable, s.ZoneText())
	})
	sortList(list, v.Order, func(s report.Shard) (string, report.Holding) { return string(s.ID), s.Holding })
	return list
}

// chosenCollections returns the collections to show.
func (v View) chosenCollections() []report.Collection {
	list := slices.DeleteFunc(slices.Clone(v.Current.Collections), func(c report.Collection) bool {
		return !v.matchesFilter(c.Namespace, c.State.Words(), c.Why)
	})
	sortList(list, v.Order, func(c report.Collection) (string, report.Holding) { return c.Namespace, c.Holding })
	return list
}

func sortList[T any](list []T, by Order, of func(T) (name string, has report.Holding)) {
	if by == WorstFirst {
		return
	}
	slices.SortStableFunc(list, func(a, b T) int {
		an, ah := of(a)
		bn, bh := of(b)
		switch by {
		case ByData:
			return cmp.Or(cmp.Compare(bh.Bytes, ah.Bytes), cmp.Compare(an, bn))
		case ByChunks:
			return cmp.Or(cmp.Compare(bh.Chunks, ah.Chunks), cmp.Compare(an, bn))
		case ByJumbo:
			return cmp.Or(cmp.Compare(bh.Jumbo, ah.Jumbo), cmp.Compare(an, bn))
		}
		return cmp.Compare(an, bn)
	})
}

// collectionPart shows one collection: its distribution, findings and last moves.
func (v View) collectionPart(width int) part {
	p := part{title: v.OpenCollection}
	i := slices.IndexFunc(v.Current.Collections, func(c report.Collection) bool { return c.Namespace == v.OpenCollection })
	if i < 0 {
		p.note = "is gone"
		return p
	}
	c := v.Current.Collections[i]
	p.note = "shard key " + c.Key
	p.rows = append(p.rows, collectionLine(c, width))
	for _, on := range c.Parts {
		p.rows = append(p.rows, line{cell("    "+string(on.Shard), min(max(12, width/5), 24), bold),
			bar(on.Bytes, c.Bytes, max(4, width/3), green), rightCell(humanize.Bytes(on.Bytes), 12, plain),
			rightCell(humanize.Count(on.Chunks, "chunk"), 14, dim), newSpan(jumboText(on.Jumbo), yellow)})
	}
	for _, f := range v.findingsAbout(v.OpenCollection) {
		p.rows = append(p.rows, findingLine(f), line{newSpan(strings.Repeat(" ", 11)+remedyText(f), dim)})
	}
	for _, e := range v.Current.History.Events {
		if e.Namespace == v.OpenCollection {
			p.rows = append(p.rows, eventLine(e, width))
		}
	}
	return p
}

func jumboText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("  %d jumbo", n)
}

// findingsAbout returns the findings about a collection.
func (v View) findingsAbout(ns string) (list []diagnosis.Finding) {
	for _, f := range v.sortedFindings() {
		if f.Scope.Namespace == ns {
			list = append(list, f)
		}
	}
	return list
}

// helpPart returns the list of keys.
func (View) helpPart() part {
	p := part{title: "Keys"}
	for _, k := range keysText {
		p.rows = append(p.rows, line{cell("  "+k[0], 20, bold), newSpan(k[1], plain)})
	}
	return p
}

// handleFilterKey handles a key while the user types the filter.
func (c *Choice) handleFilterKey(key Key) {
	switch {
	case key == KeyEnter:
		c.Typing = false
	case key == KeyEscape:
		c.Typing, c.Filter = false, ""
	case key == KeyErase:
		runes := []rune(c.Filter)
		c.Filter = string(runes[:max(0, len(runes)-1)])
	case key < KeyInterrupt:
		c.Filter += string(rune(key))
	}
}

// switchTab switches to another tab.
func (v *View) switchTab(by Tab) {
	v.Tab, v.Offset, v.Help, v.OpenCollection = (v.Tab+by)%tabCount, 0, false, ""
}

// openCollection opens the first visible collection.
func (v *View) openCollection() {
	if v.Tab != Collections || v.Current == nil || v.OpenCollection != "" {
		return
	}
	if list := v.chosenCollections(); v.Offset < len(list) {
		v.OpenCollection, v.Offset = list[v.Offset].Namespace, 0
	}
}

// goBack closes the open collection or the help, or ends the filter.
func (v *View) goBack() {
	v.Offset = 0
	switch {
	case v.Help:
		v.Help = false
	case v.OpenCollection != "":
		v.OpenCollection = ""
	default:
		v.Filter = ""
	}
}
