package pace

import (
	"fmt"
	"os"
	"strings"
	"time"

	"shardsh/balancer/catalog"
)

// Window is the time of day in which moves begin, in a time zone.
type Window struct {
	catalog.Window
	Location *time.Location
	// timeZoneName is the time zone as shown to users.
	timeZoneName string
	// IsLocal says that no zone was given, so that the time zone of this machine is used.
	IsLocal bool
}

const windowExamples = `"22:00-06:00", "22:00-06:00 UTC", "22:00-06:00 +02:00" or "22:00-06:00 Europe/Berlin"`

// ParseWindow parses a window. Without a zone, the times are in the zone local, that of this machine.
// The current time is always that of the cluster.
func ParseWindow(text string, local *time.Location) (*Window, error) {
	times, zone, named := strings.Cut(strings.TrimSpace(text), " ")
	start, stop, ok := strings.Cut(times, "-")
	if !ok {
		return nil, fmt.Errorf("%q is not a valid window, such as %s", text, windowExamples)
	}
	w := &Window{Location: local, timeZoneName: localTimeZoneName(local), IsLocal: true}
	for _, part := range []struct {
		text string
		to   *catalog.TimeOfDay
	}{{start, &w.Start}, {stop, &w.Stop}} {
		at, err := time.Parse("15:04", part.text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a valid window: %q is not a time from 00:00 to 23:59", text, part.text)
		}
		*part.to = catalog.TimeOfDay(at.Hour()*60 + at.Minute())
	}
	if w.Start == w.Stop {
		return nil, fmt.Errorf("the window %q starts and stops at %s: without a window moves run at all times", text, w.Start)
	}
	if zone = strings.TrimSpace(zone); named && zone != "" {
		var err error
		if w.Location, err = catalog.ParseTimeZone(zone); err != nil {
			return nil, fmt.Errorf("the window %q: %w", text, err)
		}
		w.timeZoneName, w.IsLocal = zone, false
	}
	return w, nil
}

// LocalLocation returns the time zone of this machine, with its name if the name is known.
func LocalLocation() *time.Location {
	name, set := os.LookupEnv("TZ")
	if target, err := os.Readlink("/etc/localtime"); !set && err == nil {
		_, name, _ = strings.Cut(target, "zoneinfo/")
	}
	if zone, err := time.LoadLocation(strings.TrimPrefix(name, ":")); name != "" && err == nil {
		return zone
	}
	return time.Local
}

// localTimeZoneName returns how the time zone of this machine is shown.
func localTimeZoneName(zone *time.Location) string {
	name := zone.String()
	if zone == time.Local {
		name = time.Now().Format("MST (-07:00)")
	}
	return name + ", the time zone of this machine"
}

// String returns the window, such as "22:00-06:00 Europe/Berlin".
func (w *Window) String() string { return w.Window.String() + " " + w.timeZoneName }

// NextOpen returns when the window opens next: now if it is open.
func (w *Window) NextOpen(now time.Time) time.Time {
	opens, _ := (&catalog.Settings{Window: &w.Window}).NextOpen(now.In(w.Location)) // one window opens every day
	return opens
}

// shutObstacle returns the obstacle for the shut window, until it opens.
func (w *Window) shutObstacle(now time.Time) *obstacle {
	opens := w.NextOpen(now)
	left := opens.Sub(now)
	if left <= 0 {
		return nil
	}
	form := "15:04"
	if opens.YearDay() != now.In(w.Location).YearDay() {
		form = "2006-01-02 15:04"
	}
	text := fmt.Sprintf("the window %s opens at %s", w, opens.Format(form))
	return &obstacle{reason: WaitWindow, text: text, left: left, leftIsMinimum: true}
}
