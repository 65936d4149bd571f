package regex

import (
	"io"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"

	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
)

// searchTimeout returns the time limit of a search with backtracking, longer for long strings. A server
// limits the number of steps instead.
func searchTimeout(s string) time.Duration {
	return 500*time.Millisecond + time.Duration(len(s))*100*time.Nanosecond
}

// maxUnmeteredWork is the cost from which a search by Go's engine is metered: bytes times instructions,
// equivalent to about ten milliseconds.
const maxUnmeteredWork = 1 << 20

func (p *Pattern) isExpensive(s string) bool { return len(s)*p.instructions > maxUnmeteredWork }

// Match reports whether a string matches.
func (p *Pattern) Match(w *quota.Meter, s string) (bool, error) {
	if err := w.ChargeBytes(len(s)); err != nil {
		return false, err
	}
	switch {
	case p.goPattern == nil:
		ok, err := withTimeout(w, p.backtracking, s).MatchString(s)
		return ok, searchErr(w, err)
	case p.isExpensive(s):
		return p.goPattern.MatchReader(&meteredRunes{meter: w, text: s, runeCost: p.instructions}), w.Charge(1)
	}
	return p.goPattern.MatchString(s), nil
}

// MatchOrFalse is like Match without the error: a pattern that is too expensive does not match.
func (p *Pattern) MatchOrFalse(w *quota.Meter, s string) bool {
	ok, err := p.Match(w, s)
	return ok && err == nil
}

// FindAll returns the byte positions of up to n matches (all for n < 0) and of their groups. An empty
// match may directly follow another match.
func (p *Pattern) FindAll(w *quota.Meter, s string, n int) ([][]int, error) {
	if err := w.ChargeBytes(len(s)); err != nil {
		return nil, err
	}
	switch {
	case p.goPattern == nil:
		return searchAll(w, p.backtracking, s, n)
	case !p.isExpensive(s) && (n == 1 || !p.goPattern.MatchString("")): // Go's engine omits some empty matches
		return p.goPattern.FindAllStringSubmatchIndex(s, n), nil
	case n == 1:
		places := p.goPattern.FindReaderSubmatchIndex(&meteredRunes{meter: w, text: s, runeCost: p.instructions})
		if places == nil {
			return nil, w.Charge(1)
		}
		return [][]int{places}, w.Charge(1)
	}
	// Each match may read the rest of the string, and a search by Go's engine cannot be interrupted.
	if slow, err := regexp2.Compile(p.source, regexp2.RE2); err == nil {
		return searchAll(w, slow, s, n)
	}
	return p.goPattern.FindAllStringSubmatchIndex(s, n), nil
}

// GroupCount returns the number of capture groups.
func (p *Pattern) GroupCount() int {
	if p.goPattern != nil {
		return p.goPattern.NumSubexp()
	}
	return len(p.backtracking.GetGroupNumbers()) - 1
}

func searchAll(w *quota.Meter, re *regexp2.Regexp, s string, n int) ([][]int, error) {
	re = withTimeout(w, re, s)
	var all [][]int
	m, err := re.FindStringMatch(s)
	for ; m != nil && err == nil && n != 0; n-- {
		var places []int
		for _, g := range m.Groups() {
			if len(g.Captures) == 0 {
				places = append(places, -1, -1)
				continue
			}
			places = append(places, g.RuneIndex, g.RuneIndex+g.RuneLength)
		}
		all = append(all, places)
		if err := w.ChargeBytes(m.RuneLength); err != nil {
			return nil, err
		}
		m, err = re.FindNextMatch(m)
	}
	toByteOffsets(s, all)
	return all, searchErr(w, err)
}

// toByteOffsets converts offsets in characters to offsets in bytes.
func toByteOffsets(s string, all [][]int) {
	if len(s) == utf8.RuneCountInString(s) {
		return
	}
	at := make([]int, 0, len(s)+1)
	for i := range s {
		at = append(at, i)
	}
	at = append(at, len(s))
	for _, places := range all {
		for i, n := range places {
			if n >= 0 {
				places[i] = at[n]
			}
		}
	}
}

// withTimeout returns a copy of the expression that stops at the deadline of the meter's context or
// after searchTimeout.
func withTimeout(w *quota.Meter, re *regexp2.Regexp, s string) *regexp2.Regexp {
	own := *re
	own.MatchTimeout = searchTimeout(s)
	if w != nil {
		if deadline, ok := w.Context.Deadline(); ok {
			own.MatchTimeout = max(min(own.MatchTimeout, time.Until(deadline)), time.Millisecond)
		}
	}
	return &own
}

func searchErr(w *quota.Meter, err error) error {
	switch {
	case err == nil:
		return nil
	case w.Err() != nil:
		return w.Err()
	}
	return servererr.NewCode(51156,
		"Error occurred while executing the regular expression. Result code: match limit exceeded")
}

// meteredRunes reads a string and charges the meter. It stops when the meter ends.
type meteredRunes struct {
	meter    *quota.Meter
	text     string
	offset   int
	runeCost int // cost of a character, in instructions
}

// ReadRune returns the next character, or io.EOF.
func (r *meteredRunes) ReadRune() (c rune, size int, err error) {
	if r.offset == len(r.text) || r.meter.ChargeBytes(r.runeCost) != nil {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.text[r.offset:])
	r.offset += size
	return c, size, nil
}
