package audit

import (
	"path"
	"slices"
	"time"
)

// Record is a command, or a run, with what became of it.
type Record struct {
	Entry
	// Until is when that was written down; zero when it was not.
	Until time.Time `json:"until,omitzero"`
}

// IsRun reports whether it is a run, and not a command of one.
func (r Record) IsRun() bool { return r.What == Began }

// Records joins the two entries of each command and each run, in the order in which
// they began.
func Records(entries []Entry) (list []Record) {
	at := map[string]int{}
	for _, e := range entries {
		switch e.What {
		case Began, Sending:
			at[e.ID] = len(list)
			r := Record{Entry: e}
			r.Outcome = Unknown
			list = append(list, r)
		case Ended, Answered:
			i, is := at[e.ID]
			if !is { // its first line is beyond the end of the collection
				r := Record{Entry: e, Until: e.At}
				if r.What = Sending; e.What == Ended {
					r.What = Began
				}
				r.At = e.At.Add(-time.Duration(e.Millis) * time.Millisecond)
				list = append(list, r)
				continue
			}
			r := &list[i]
			r.Outcome, r.Code, r.Error, r.Millis, r.Until = e.Outcome, e.Code, e.Error, e.Millis, e.At
		}
	}
	return list
}

// Filter selects records; its zero value selects all.
type Filter struct {
	Since time.Time
	// Namespaces are names and patterns of collections, Verb is that of the run.
	Namespaces []string
	Verb       string
	// Last is how many of the newest ones; zero is all.
	Last int
}

// Select returns the records that are selected.
func (f Filter) Select(list []Record) []Record {
	list = slices.DeleteFunc(slices.Clone(list), func(r Record) bool {
		return r.At.Before(f.Since) || f.Verb != "" && r.Verb != f.Verb || !f.matches(r.Namespaces)
	})
	if f.Last > 0 && len(list) > f.Last {
		list = list[len(list)-f.Last:]
	}
	return list
}

// matches reports whether one of some collections is selected. A run without any is about
// all of them.
func (f Filter) matches(namespaces []string) bool {
	return len(f.Namespaces) == 0 || len(namespaces) == 0 || slices.ContainsFunc(namespaces, func(ns string) bool {
		return slices.ContainsFunc(f.Namespaces, func(pattern string) bool {
			is, err := path.Match(pattern, ns)
			return pattern == ns || err == nil && is
		})
	})
}
