package findings

import (
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
)

// ForecastText returns a forecast as text: the range, the obstacles with the commands that remove them,
// and the basis of the times.
func ForecastText(f forecast.Forecast) string {
	var p page
	p.writeWrapped(0, sentence(f.Headline()))
	if len(f.BlockedBy) > 0 {
		p.writeHeading("Because")
	}
	for _, g := range diagnosis.GroupFindings(f.BlockedBy) {
		p.writeWrapped(2, groupText(g))
		p.writeCommands(4, g.First().Commands)
	}
	if f.Done {
		return p.String()
	}
	p.writeHeading("Basis")
	for _, line := range f.Basis {
		p.writeWrapped(2, line)
	}
	return p.String()
}
