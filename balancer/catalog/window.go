package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// Window is the daily time window of the balancer (rules/01-rounds-and-settings §2.3). A nil window is
// always open.
type Window struct{ Start, Stop TimeOfDay }

// TimeOfDay is the number of minutes since midnight, 0 to 1439.
type TimeOfDay int

// String returns the time as "HH:MM".
func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", t/60, t%60) }

// String returns the window as "HH:MM-HH:MM".
func (w *Window) String() string {
	if w == nil {
		return "always"
	}
	return w.Start.String() + "-" + w.Stop.String()
}

// ParseWindow parses the activeWindow field. It returns nil, always open, for the zero RawValue
// (field absent). A value that is not a document is TypeMismatch; every other error is BadValue.
//
// In contrast to the server, for which "-1:30" is a time on the previous day, ParseWindow refuses
// negative hours and minutes (rules/01-examples-and-traps §13).
func ParseWindow(v bson.RawValue) (*Window, error) {
	if v.Type == 0 {
		return nil, nil
	}
	doc, ok := v.DocumentOK()
	if !ok {
		return nil, field{"activeWindow", v}.mismatchError("an object")
	}
	var texts [2]string
	for e, rest, ok := keyorder.Next(keyorder.Body(doc)); ok; e, rest, ok = keyorder.Next(rest) {
		switch string(e.Name) {
		case "start":
			texts[0], _ = e.Value.StringValueOK()
		case "stop":
			texts[1], _ = e.Value.StringValueOK()
		}
	}
	if texts[0] == "" || texts[1] == "" {
		return nil, mongoerr.New(mongoerr.BadValue, "activeWindow must have start and stop as strings, not %s",
			humanize.Literal(doc))
	}
	var w Window
	for i, dst := range []*TimeOfDay{&w.Start, &w.Stop} {
		if *dst, ok = parseTimeOfDay(texts[i]); !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "activeWindow has the time %q, which is not HH:MM", texts[i])
		}
	}
	if w.Start == w.Stop {
		return nil, mongoerr.New(mongoerr.BadValue, "activeWindow starts and stops at %s", w.Start)
	}
	return &w, nil
}

// parseTimeOfDay parses two integers with a colon directly after the first. Like scanf("%d:%d"), it
// permits blanks before each integer and any text after the second.
func parseTimeOfDay(s string) (TimeOfDay, bool) {
	hours, rest, ok := scanInteger(s)
	if !ok || !strings.HasPrefix(rest, ":") {
		return 0, false
	}
	minutes, _, ok := scanInteger(rest[1:])
	if !ok || hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	return TimeOfDay(hours*60 + minutes), true
}

func scanInteger(s string) (n int, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	end := 0
	if end < len(s) && (s[end] == '-' || s[end] == '+') {
		end++
	}
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	return n, s[end:], err == nil
}

// Contains reports whether now is inside the window, by the clock in now's location in whole seconds,
// including both ends. A window whose start is after its stop extends over midnight.
func (w *Window) Contains(now time.Time) bool {
	if w == nil {
		return true
	}
	hour, minute, second := now.Clock()
	n := (hour*60+minute)*60 + second
	start, stop := int(w.Start)*60, int(w.Stop)*60
	if start < stop {
		return start <= n && n <= stop
	}
	return n >= start || n <= stop
}
