package regex

import (
	"io"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"

	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
)

// regexLimit ends a search that needs backtracking, as a server's limit of
// steps does; long strings get more.
func regexLimit(s string) time.Duration {
	return 500*time.Millisecond + time.Duration(len(s))*100*time.Nanosecond
}

// muchWork is when a search by Go's engine is looked after: bytes times
// instructions, some ten milliseconds.
const muchWork = 1 << 20

func (p *Pattern) heavy(s string) bool { return len(s)*p.size > muchWork }

// Match reports whether a string has a match.
func (p *Pattern) Match(w *quota.Meter, s string) (bool, error) {
	if err := w.Handle(len(s)); err != nil {
		return false, err
	}
	switch {
	case p.fast == nil:
		ok, err := limited(w, p.slow, s).MatchString(s)
		return ok, tooExpensive(w, err)
	case p.heavy(s):
		return p.fast.MatchReader(&watchedRunes{w: w, s: s, cost: p.size}), w.Step(1)
	}
	return p.fast.MatchString(s), nil
}

// Matches reports what match does; a pattern that is too expensive counts as
// not matching.
func (p *Pattern) Matches(w *quota.Meter, s string) bool {
	ok, err := p.Match(w, s)
	return ok && err == nil
}

// FindAll returns the byte positions of up to n matches (all for n < 0) and of
// their groups. Of matches of nothing there may be one right after another match.
func (p *Pattern) FindAll(w *quota.Meter, s string, n int) ([][]int, error) {
	if err := w.Handle(len(s)); err != nil {
		return nil, err
	}
	switch {
	case p.fast == nil:
		return searchAll(w, p.slow, s, n)
	case !p.heavy(s) && (n == 1 || !p.fast.MatchString("")): // of nothing, Go's leaves some out
		return p.fast.FindAllStringSubmatchIndex(s, n), nil
	case n == 1:
		places := p.fast.FindReaderSubmatchIndex(&watchedRunes{w: w, s: s, cost: p.size})
		if places == nil {
			return nil, w.Step(1)
		}
		return [][]int{places}, w.Step(1)
	}
	// Each match may look at all that follows, and Go's engine can't be ended.
	if slow, err := regexp2.Compile(p.source, regexp2.RE2); err == nil {
		return searchAll(w, slow, s, n)
	}
	return p.fast.FindAllStringSubmatchIndex(s, n), nil
}

// Groups returns how many groups a match has.
func (p *Pattern) Groups() int {
	if p.fast != nil {
		return p.fast.NumSubexp()
	}
	return len(p.slow.GetGroupNumbers()) - 1
}

func searchAll(w *quota.Meter, re *regexp2.Regexp, s string, n int) ([][]int, error) {
	re = limited(w, re, s)
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
		if err := w.Handle(m.RuneLength); err != nil {
			return nil, err
		}
		m, err = re.FindNextMatch(m)
	}
	toBytes(s, all)
	return all, tooExpensive(w, err)
}

// toBytes turns places that count characters into ones that count bytes.
func toBytes(s string, all [][]int) {
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

// limited returns an expression that ends with the work's deadline, or when it
// has backtracked for too long.
func limited(w *quota.Meter, re *regexp2.Regexp, s string) *regexp2.Regexp {
	own := *re
	own.MatchTimeout = regexLimit(s)
	if w != nil {
		if deadline, ok := w.Context.Deadline(); ok {
			own.MatchTimeout = max(min(own.MatchTimeout, time.Until(deadline)), time.Millisecond)
		}
	}
	return &own
}

func tooExpensive(w *quota.Meter, err error) error {
	switch {
	case err == nil:
		return nil
	case w.Over() != nil:
		return w.Over()
	}
	return servererr.Of(51156, "Error occurred while executing the regular expression. Result code: match limit exceeded")
}

// watchedRunes reads a string until the work ends.
type watchedRunes struct {
	w    *quota.Meter
	s    string
	at   int
	cost int // of a character, in instructions
}

// ReadRune returns the next character, or io.EOF.
func (r *watchedRunes) ReadRune() (c rune, size int, err error) {
	if r.at == len(r.s) || r.w.Handle(r.cost) != nil {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.s[r.at:])
	r.at += size
	return c, size, nil
}
