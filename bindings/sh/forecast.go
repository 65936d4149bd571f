package sh

import (
	"encoding/json"

	"shardsh/balancer/action"
	"shardsh/balancer/forecast"
	"shardsh/bindings/findings"

	"github.com/dop251/goja"
)

// shardForecastMethods returns the helpers that forecast durations.
func shardForecastMethods() []helper {
	return []helper{
		{"forecast", "ns?:string|object options?:object{goal,timeZone,seed}", withMongosWarning(shForecast),
			"Estimates how long the balancer takes, as a range with its basis: for a collection, [collections] or all; " +
				"{goal} is balance, {drain: shard}, zones, defragment or load."},
	}
}

// shForecast returns a forecast, which prints as the text of "shardsh forecast".
func shForecast(c *call, sh *Helpers) goja.Value {
	names, at := c.namespacesArgument("forecast")
	given := c.options("forecast", at)
	verb := action.Forecast{
		Goal: c.goalOption(given), TimeZone: given.text("timeZone"), Seed: uint64(given.count("seed")),
	}
	verb.Goal.Namespaces = names
	f := runReadAction(c, sh, "forecast", verb, names...)
	return c.host.printableObject(forecastWithDates(f), findings.ForecastText(f))
}

// forecastWithDates returns the JSON form of a forecast, with dates in extended JSON, so that scripts
// get Date values.
func forecastWithDates(f forecast.Forecast) any {
	var fields map[string]any
	text, err := json.Marshal(f)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return f // the unmodified form is equivalent
	}
	for _, name := range []string{"at", "earliest", "expected", "latest"} {
		fields[name] = map[string]any{"$date": fields[name]}
	}
	return fields
}
