package sh

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Servers since 8.3 support windows by weekday, a list that replaces the daily window
// (rules/01-rounds-and-settings §2.4).
var weekdayWindowsVersion = catalog.ServerVersion{Major: 8, Minor: 3}

// windowClock returns the clock of the balancer's window (rules/01-rounds-and-settings §2.3), with its
// time zone if that is known.
func windowClock(s *catalog.Snapshot) string {
	const clock = "config primary's local time"
	if s.Parts().Clock.Location == nil {
		return clock
	}
	return clock + ", " + s.Parts().Clock.String()
}

var timeOfDay = regexp.MustCompile(`^([01]?[0-9]|2[0-3]):[0-5][0-9]$`)

// shardWindowMethods returns the helpers for the balancer's window.
func shardWindowMethods() []helper {
	return []helper{
		{"balancerWindow", "start?:string|object stop?:string", shBalancerWindow,
			"Without arguments returns the balancer's window, else sets it: (\"22:00\", \"06:00\"), or [{day, start, stop}, " +
				"…] since 8.3."},
		{"clearBalancerWindow", "", func(c *call, sh *Helpers) goja.Value {
			fields := bson.D{{Key: "activeWindow", Value: int32(1)}}
			if sh.version().AtLeast(weekdayWindowsVersion) {
				fields = append(fields, bson.E{Key: "activeWindowDOW", Value: int32(1)})
			}
			update := bson.D{{Key: "$unset", Value: fields}}
			result, _ := c.updateConfig(sh.config(), "settings", "balancer", update, false, 30_000)
			return result
		}, "Removes the window: the balancer works at any time."},
	}
}

func shBalancerWindow(c *call, sh *Helpers) goja.Value {
	switch {
	case !c.Has(0):
		seen := sh.readCluster(live.ReaderOptions{Parts: live.Settings | live.WindowClock})
		return c.host.balancerWindow(configDocument(seen, "settings", "balancer"), windowClock(seen.Snapshot))
	case c.Object(0) != nil:
		return c.setWeekdays(sh)
	}
	window := c.windowTimes("Shard.balancerWindow", c.Arg(0), c.Arg(1))
	update := bson.D{{Key: "$set", Value: bson.D{{Key: "activeWindow", Value: window}}}}
	if sh.version().AtLeast(weekdayWindowsVersion) {
		// Windows by weekday would take precedence over the requested window.
		update = append(update, bson.E{Key: "$unset", Value: bson.D{{Key: "activeWindowDOW", Value: int32(1)}}})
	}
	return c.updateSetting(sh.config(), "balancer", update)
}

// windowTimes returns the two ends of a window, or throws.
func (c *call) windowTimes(label string, start, stop goja.Value) bson.D {
	ends := bson.D{}
	for _, end := range []struct {
		name string
		v    goja.Value
	}{{"start", start}, {"stop", stop}} {
		if end.v == nil || !goja.IsString(end.v) || !timeOfDay.MatchString(end.v.String()) {
			shown := "undefined"
			if end.v != nil {
				shown = c.host.Display.Inspect(end.v)
			}
			c.ThrowArgument(label, end.name, "a time of day as in \"22:30\"", shown)
		}
		text := end.v.String()
		if len(text) == len("9:00") {
			text = "0" + text
		}
		ends = append(ends, bson.E{Key: end.name, Value: text})
	}
	if ends[0].Value == ends[1].Value {
		c.JS.ThrowInvalid("Arguments start and stop are the same time: the balancer would never work; "+
			"sh.clearBalancerWindow() lets it work at any time (%s)", label)
	}
	return ends
}

// setWeekdays sets windows for weekdays.
func (c *call) setWeekdays(sh *Helpers) goja.Value {
	list := c.Object(0)
	if list.ClassName() != "Array" || len(script.Items(list)) == 0 {
		c.ThrowArgument("Shard.balancerWindow", "start", "a time of day, or a list of {day, start, stop}",
			c.host.Display.Inspect(c.Arg(0)))
	}
	windows := bson.A{}
	var overnight []string
	for i, v := range script.Items(list) {
		label := fmt.Sprintf("window %d of Shard.balancerWindow", i+1)
		o, _ := v.(*goja.Object)
		day := script.OptionalText(script.Property(o, "day"))
		if !slices.Contains(weekdays(), day) {
			c.ThrowArgument(label, "day", "one of "+strings.Join(weekdays(), ", "), day)
		}
		ends := c.windowTimes(label, script.Property(o, "start"), script.Property(o, "stop"))
		if ends[0].Value.(string) > ends[1].Value.(string) {
			overnight = append(overnight, day)
		}
		windows = append(windows, append(bson.D{{Key: "day", Value: day}}, ends...))
	}
	sh.requireVersion("balancerWindow with weekdays", weekdayWindowsVersion,
		"Give one window for all days: sh.balancerWindow(start, stop).")
	if len(overnight) > 0 {
		c.JS.Out.Warn("Warning: a window over midnight counts for its own day alone: both its early and its late hours are " +
			strings.Join(overnight, ", ") + "'s. For the next morning add a window of the next day.")
	}
	update := bson.D{{Key: "$set", Value: bson.D{{Key: "activeWindowDOW", Value: windows}}}}
	return c.updateSetting(sh.config(), "balancer", update)
}

func weekdays() []string {
	var days []string
	for d := time.Sunday; d <= time.Saturday; d++ {
		days = append(days, d.String())
	}
	return days
}

// balancerWindow returns the window of the balancer's settings; null when the balancer may work at any
// time.
func (h *Host) balancerWindow(settings bson.Raw, clock string) goja.Value {
	if days, ok := settings.Lookup("activeWindowDOW").ArrayOK(); ok && len(days) > len(rawdoc.Empty) {
		return h.JS.NewObject("days", h.JS.Values.ToJS(settings.Lookup("activeWindowDOW")), "clock", clock)
	}
	window, ok := settings.Lookup("activeWindow").DocumentOK()
	if !ok {
		return goja.Null()
	}
	return h.JS.NewObject("start", h.fieldValue(window, "start"), "stop", h.fieldValue(window, "stop"), "clock", clock)
}

// windowText returns the window in words.
func windowText(settings bson.Raw, clock string) string {
	if list, ok := settings.Lookup("activeWindowDOW").ArrayOK(); ok {
		days, _ := list.Values()
		var texts []string
		for _, d := range days {
			if day, ok := d.DocumentOK(); ok {
				texts = append(texts, fmt.Sprintf("%s %s to %s", rawdoc.Text(day, "day"), rawdoc.Text(day, "start"),
					rawdoc.Text(day, "stop")))
			}
		}
		if len(texts) > 0 {
			return strings.Join(texts, "; ") + " (" + clock + ")"
		}
	}
	if window, ok := settings.Lookup("activeWindow").DocumentOK(); ok {
		return fmt.Sprintf("%s to %s (%s)", rawdoc.Text(window, "start"), rawdoc.Text(window, "stop"), clock)
	}
	return "none: at any time"
}
