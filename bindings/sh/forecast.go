package sh

import (
	"encoding/json"
	"time"

	"shardsh/balancer/forecast"
	"shardsh/balancer/live"
	"shardsh/bindings/findings"

	"github.com/dop251/goja"
)

// shardForecastMethods() say how long things take.
func shardForecastMethods() []helper {
	return []helper{
		{"forecast", "ns?:string|object options?:object{goal,timeZone,seed}", checked(shForecast),
			"Estimates how long the balancer takes, as a range with its basis: for a collection, [collections] or all; {goal} is " +
				"balance, {drain: shard}, zones or defragment."},
	}
}

// shForecast returns a forecast, which is printed as the text of "shardsh
// forecast".
func shForecast(c *call, sh *Helpers) goja.Value {
	options := c.forecastOptions()
	s := sh.snapshot(live.ReaderOptions{})
	watch, end := c.simulating()
	options.Watch = watch
	f, err := forecast.Of(s, options)
	end()
	if err != nil {
		sh.throwUnknown(err)
	}
	return c.s.shown(datesOf(f), findings.ForecastText(f))
}

// forecastOptions reads the arguments: what to ask about, or nothing, and options.
func (c *call) forecastOptions() forecast.Options {
	names, at := c.namespacesArgument("forecast")
	given := c.options("forecast", at)
	o := forecast.Options{Goal: c.goalOption(given), Seed: uint64(given.count("seed"))}
	o.Goal.Namespaces = names
	o.Location = given.location()
	return o
}

// location reads the time zone of the balancer's windows; nil when it was not given.
func (h helperOptions) location() *time.Location {
	name := h.text("timeZone")
	if name == "" {
		return nil
	}
	in, err := time.LoadLocation(name)
	if err != nil {
		h.refuse("timeZone", `a name such as "Europe/Berlin" or "UTC"`, h.c.s.Display.Inspect(h.get("timeZone")))
	}
	return in
}

// datesOf returns the JSON form of a forecast, with its dates as those of extended
// JSON: scripts have them as Date.
func datesOf(f forecast.Forecast) any {
	var fields map[string]any
	text, err := json.Marshal(f)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return f // whose form says the same
	}
	for _, name := range []string{"at", "earliest", "expected", "latest"} {
		fields[name] = map[string]any{"$date": fields[name]}
	}
	return fields
}
