package audit

import (
	"path"
	"slices"
	"time"
)

// Record is a command or a run with its outcome.
type Record struct {
	Entry
	// Until is when the outcome was recorded; zero when no outcome was recorded.
	Until time.Time `json:"until,omitzero"`
}

// IsRun reports whether the record is a run rather than a command of a run.
func (r Record) IsRun() bool { return r.Kind == Began }

// Records joins the two entries of each command and of each run, in the order in which the commands and
// runs began.
func Records(entries []Entry) (list []Record) {
	at := map[string]int{}
	for _, e := range entries {
		switch e.Kind {
		case Began, Sending:
			at[e.ID] = len(list)
			r := Record{Entry: e}
			r.Outcome = Unknown
			list = append(list, r)
		case Ended, Answered:
			i, ok := at[e.ID]
			if !ok { // the capped collection has dropped the first entry
				r := Record{Entry: e, Until: e.At}
				if r.Kind = Sending; e.Kind == Ended {
					r.Kind = Began
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

// Filter selects records. Its zero value selects all records.
type Filter struct {
	// Since selects what began or ended since; zero selects all.
	Since time.Time
	// Namespaces are names and patterns of collections. Verb is the verb of the run.
	Namespaces []string
	Verb       string
	// Last limits the result to the newest records; zero means no limit.
	Last int
}

// Select returns the records that the filter selects.
func (f Filter) Select(list []Record) []Record {
	list = slices.DeleteFunc(slices.Clone(list), func(r Record) bool {
		return r.At.Before(f.Since) && r.Until.Before(f.Since) || f.Verb != "" && r.Verb != f.Verb || !f.matches(r.Namespaces)
	})
	if f.Last > 0 && len(list) > f.Last {
		list = list[len(list)-f.Last:]
	}
	return list
}

// matches reports whether the filter selects one of the namespaces, which are patterns themselves where a run was
// given patterns. A run without namespaces concerns all collections.
func (f Filter) matches(namespaces []string) bool {
	covers := func(pattern, ns string) bool {
		is, err := path.Match(pattern, ns)
		return err == nil && is
	}
	return len(f.Namespaces) == 0 || len(namespaces) == 0 || slices.ContainsFunc(namespaces, func(ns string) bool {
		return slices.ContainsFunc(f.Namespaces, func(pattern string) bool {
			return pattern == ns || covers(pattern, ns) || covers(ns, pattern)
		})
	})
}
