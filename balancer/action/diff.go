package action

import (
	"path"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diff"
)

// Diff says what has changed between two snapshots.
type Diff struct {
	// Ignore are kinds of change that don't matter. Namespaces are the only collections to
	// compare, by name or pattern; none is all.
	Ignore     []string
	Namespaces []string
}

// Validate refuses values that can't be.
func (v Diff) Validate() error {
	for _, kind := range v.Ignore {
		if !slices.ContainsFunc(diff.Kinds(), func(k diff.KindInfo) bool { return string(k.Kind) == kind }) {
			return refuse("{ignore}: there is no kind of change %q", kind)
		}
	}
	for _, pattern := range v.Namespaces {
		if _, err := path.Match(pattern, ""); err != nil {
			return refuse("{ns}: %q is not a valid pattern of collections", pattern)
		}
	}
	return nil
}

// Run compares an older snapshot with a newer one.
func (v Diff) Run(was, is *catalog.Snapshot) (diff.Result, error) {
	if err := v.Validate(); err != nil {
		return diff.Result{}, err
	}
	r := diff.Of(was, is)
	r.Changes = slices.DeleteFunc(r.Changes, func(c diff.Change) bool {
		return slices.Contains(v.Ignore, string(c.Kind)) || c.Namespace != "" && !v.selects(c.Namespace)
	})
	r.Largest = slices.DeleteFunc(r.Largest, func(c diff.CollectionData) bool { return !v.selects(c.Namespace) })
	return r, nil
}

// selects reports whether a collection is one of those to compare.
func (v Diff) selects(ns string) bool {
	return len(v.Namespaces) == 0 || slices.ContainsFunc(v.Namespaces, func(pattern string) bool {
		is, _ := path.Match(pattern, catalog.SeriesOf(ns))
		return is
	})
}
