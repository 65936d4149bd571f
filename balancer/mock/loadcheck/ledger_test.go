//go:build unix

package loadcheck

import (
	"fmt"
	"slices"
	"strings"
)

// version is a document as it may be found: not at all, where value is 0.
type version struct{ value, key int64 }

func (v version) there() bool { return v.value != 0 }

func (v version) String() string {
	if !v.there() {
		return "none"
	}
	return fmt.Sprintf("v %d, k %d", v.value, v.key)
}

// record is what a client knows of one document, which only this client writes.
// It is one of some versions: more than one where a write was neither
// acknowledged nor seen to have done nothing.
type record struct {
	id  string
	may []version
	// story are the newest steps, for messages.
	story []string
}

func newRecord(id string) *record { return &record{id: id, may: []version{{}}} }

// sure reports whether there is one version that it must be.
func (r *record) sure() bool { return len(r.may) == 1 }

// now is the version of a record that is sure.
func (r *record) now() version { return r.may[0] }

// storyLength is how many steps of a document a message tells.
const storyLength = 12

func (r *record) tell(format string, args ...any) {
	if len(r.story) == storyLength {
		r.story = slices.Delete(r.story, 0, 1)
	}
	r.story = append(r.story, fmt.Sprintf(format, args...))
}

// wrote notes what a write to a record that is sure has come to.
func (r *record) wrote(what string, to version, err error) {
	if err == nil {
		r.may = []version{to}
		r.tell("%s: %v", what, to)
		return
	}
	r.tell("%s: %v? %v", what, to, err)
	if !slices.Contains(r.may, to) {
		r.may = append(r.may, to)
	}
}

// read notes what was found, and fails when it can't be.
func (r *record) read(found []version) error {
	switch {
	case len(found) > 1:
		return fmt.Errorf("doubled: %s is there %d times: %v\n%s", r.id, len(found), found, r)
	case len(found) == 0:
		found = []version{{}}
	}
	if !slices.Contains(r.may, found[0]) {
		kind := "other than written"
		if !found[0].there() {
			kind = "lost"
		}
		return fmt.Errorf("%s: %s is %v\n%s", kind, r.id, found[0], r)
	}
	r.may = found
	r.tell("read: %v", found[0])
	return nil
}

func (r *record) String() string {
	return fmt.Sprintf("it may be %v after\n  %s", r.may, strings.Join(r.story, "\n  "))
}
