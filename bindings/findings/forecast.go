package findings

import (
	"fmt"

	"shardsh/balancer/forecast"
)

// ForecastText returns a forecast: the range, what is in the way with the commands
// that end it, and what the times come from.
func ForecastText(f forecast.Forecast) string {
	var p page
	p.wrapped(0, sentence(f.Headline()))
	if len(f.Because) > 0 {
		p.heading("Because")
	}
	for _, x := range f.Because {
		p.wrapped(2, fmt.Sprintf("%s (%s)", x.Sentence, x.Code))
		for _, command := range x.Commands {
			p.line(4, command)
		}
	}
	if f.Done {
		return p.String()
	}
	p.heading("Basis")
	for _, line := range f.Basis {
		p.wrapped(2, line)
	}
	return p.String()
}
