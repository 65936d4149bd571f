package action

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// DefaultMaxMoves and DefaultMaxBytes are the limits of a run without explicit limits: about the amount
// that a run moves in a night, or half an hour of copying at 64 MiB/s. They limit the damage of a
// mistake, and what was moved can be undone before the next day.
const (
	DefaultMaxMoves       = 1000
	DefaultMaxBytes int64 = 100e9
)

// NoLimit is the value of MaxMoves and MaxBytes for no limit.
const NoLimit = math.MinInt32

// ParseLimit parses a limit: a number, or "none" or 0 for NoLimit.
func ParseLimit[T int | int64](text string, parse func(string) (T, error)) (T, error) {
	if strings.EqualFold(strings.TrimSpace(text), "none") {
		return NoLimit, nil
	}
	n, err := parse(text)
	if err == nil && n == 0 {
		return NoLimit, nil
	}
	return n, err
}

// ParseMaxMoves parses a limit of moves, such as "500" or "none".
func ParseMaxMoves(text string) (int, error) {
	n, err := ParseLimit(text, func(text string) (int, error) { return strconv.Atoi(strings.TrimSpace(text)) })
	if err != nil || n == NoLimit && strings.HasPrefix(strings.TrimSpace(text), "-") {
		return 0, fmt.Errorf("%q is not a number of moves, or none", text)
	}
	return n, nil
}

// ParseMaxBytes parses a limit of bytes, such as "100GB" or "none".
func ParseMaxBytes(text string) (int64, error) {
	n, err := ParseLimit(text, catalog.ParseSize)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size such as 100GB, or none", text)
	}
	return n, nil
}

// effectiveLimit returns the limit of a run; zero means none.
func effectiveLimit[T int | int64](given, usual T) T {
	switch given {
	case 0:
		return usual
	case NoLimit:
		return 0
	}
	return given
}

func (p Pace) maxMoves() int   { return effectiveLimit(p.MaxMoves, DefaultMaxMoves) }
func (p Pace) maxBytes() int64 { return effectiveLimit(p.MaxBytes, DefaultMaxBytes) }

// defaultLimitNote returns the hint for a run that ends at a default limit.
func defaultLimitNote(given bool, flag, option string) string {
	if given {
		return ""
	}
	return fmt.Sprintf(", the default (raise it with --%s or %s)", flag, option)
}

// limitNote returns the note that says whether a limit is set by a policy or by default.
func limitNote(policy, byDefault string) pace.LimitNote {
	return pace.LimitNote{Text: cmp.Or(policy, byDefault), FromPolicy: policy != ""}
}

func (p Pace) rules() pace.Rules {
	return pace.Rules{
		MaxMoves: p.maxMoves(), MaxBytes: p.maxBytes(), MaxTime: p.MaxDuration, PauseBetween: p.PauseBetween,
		Window:    p.Window,
		PauseWhen: p.PauseWhen, WindowGroups: p.policyWindows, DiskLimit: p.DiskLimit,
		TimeNote:  limitNote(p.durationNote, ""),
		MovesNote: limitNote(p.movesNote, defaultLimitNote(p.MaxMoves != 0, "max-moves", "maxMoves")),
		BytesNote: limitNote(p.bytesNote, defaultLimitNote(p.MaxBytes != 0, "max-bytes", "maxBytes")),
	}
}

// withPlanLimits returns the pace with the limits of an approved plan, if these are lower.
func (p Pace) withPlanLimits(l plan.Limits) Pace {
	if now := p.maxMoves(); l.Moves > 0 && (now == 0 || l.Moves < now) {
		p.MaxMoves, p.movesNote = l.Moves, ""
	}
	if now := p.maxBytes(); l.Bytes > 0 && (now == 0 || l.Bytes < now) {
		p.MaxBytes, p.bytesNote = l.Bytes, ""
	}
	if l.Disk > 0 && (p.DiskLimit == 0 || l.Disk < p.DiskLimit) {
		p.DiskLimit = l.Disk
	}
	return p
}

// mayEndAtLimit reports whether a run may end at a limit before everything expected is moved. If the
// user has set a limit, that may be intended.
func (p Pace) mayEndAtLimit(t plan.Totals) bool {
	return p.MaxDuration > 0 || p.MaxMoves > 0 || p.MaxBytes > 0 ||
		p.MaxMoves == 0 && t.Moves > DefaultMaxMoves || p.MaxBytes == 0 && t.Bytes > DefaultMaxBytes
}
