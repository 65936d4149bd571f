package catalog

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// DayWindow is the time of activity on one day of the week: an entry of
// activeWindowDOW, which 8.3 reads (rules/01-rounds-and-settings §2.4).
type DayWindow struct {
	Day time.Weekday
	Window
}

// ParseDayWindows parses the activeWindowDOW field. A value that is not an array is TypeMismatch, an
// entry without a required field is IDLFailedToParse, and every other error in an entry is BadValue.
func ParseDayWindows(v bson.RawValue) ([]DayWindow, error) {
	list, ok := v.ArrayOK()
	if !ok {
		return nil, field{"activeWindowDOW", v}.mismatchError("an array")
	}
	entries, err := list.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.BadValue, "activeWindowDOW: %v", err)
	}
	var days []DayWindow
	for _, entry := range entries {
		day, err := parseDayWindow(entry)
		if err != nil {
			return nil, err
		}
		days = append(days, day)
	}
	return days, nil
}

func parseDayWindow(entry bson.RawValue) (DayWindow, error) {
	doc, ok := entry.DocumentOK()
	if !ok {
		return DayWindow{}, mongoerr.New(mongoerr.BadValue, "activeWindowDOW has the entry %s, which is not a document",
			humanize.ValueLiteral(entry))
	}
	if err := requireFields("activeWindowDOW", doc, "day", "start", "stop"); err != nil {
		return DayWindow{}, err
	}
	day := doc.Lookup("day")
	name, _ := day.StringValueOK()
	window, err := ParseWindow(entry)
	if err != nil {
		return DayWindow{}, mongoerr.Wrap(err, "activeWindowDOW")
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if d.String() == name {
			return DayWindow{d, *window}, nil
		}
	}
	return DayWindow{}, mongoerr.New(mongoerr.BadValue,
		"activeWindowDOW has the day %s, which is none of Monday to Sunday", humanize.ValueLiteral(day))
}

// requireFields returns the server parser's error for the first missing field.
func requireFields(of string, doc bson.Raw, names ...string) error {
	for _, name := range names {
		if doc.Lookup(name).Type == 0 {
			return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s.%s' is missing but a required field", of, name)
		}
	}
	return nil
}

// Contains reports whether now is in the window on the window's day. Both parts of a window over
// midnight are on that day: the window does not continue on the following morning
// (rules/01-examples-and-traps §12, trap 18).
func (d DayWindow) Contains(now time.Time) bool {
	return now.Weekday() == d.Day && d.Window.Contains(now)
}
