package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/humanize"
)

// FleetCluster is a cluster of a fleet.
type FleetCluster struct {
	Cluster string            `json:"cluster"`
	Address string            `json:"address"`
	Labels  map[string]string `json:"labels,omitzero"`
	// Overview is nil where the cluster could not be read; Trouble says why.
	Overview *Overview `json:"report,omitzero"`
	Error    string    `json:"error,omitzero"`
}

// VerdictUnknown is the verdict for a cluster that could not be read.
const VerdictUnknown = "unknown"

// Verdict returns the state of the cluster in one word: the verdict of its overview, or VerdictUnknown.
func (m FleetCluster) Verdict() string {
	if m.Overview == nil {
		return VerdictUnknown
	}
	return m.Overview.Verdict()
}

// Headline says in one line what is wrong.
func (m FleetCluster) Headline() string {
	if m.Overview == nil {
		return m.Error
	}
	return m.Overview.Answer.Headline()
}

// verdicts are sorted, the worst first.
var verdicts = []string{"critical", VerdictUnknown, "warning", "info", "fine"}

// SortFleet sorts clusters by their verdicts, the worst first, and then by name.
func SortFleet(members []FleetCluster) {
	slices.SortFunc(members, func(a, b FleetCluster) int {
		return cmp.Or(cmp.Compare(slices.Index(verdicts, a.Verdict()), slices.Index(verdicts, b.Verdict())),
			cmp.Compare(a.Cluster, b.Cluster))
	})
}

// FleetHeadline counts the clusters by their verdicts: 5 clusters: 1 critical, 4 fine.
func FleetHeadline(members []FleetCluster) string {
	counts := map[string]int{}
	for _, m := range members {
		counts[m.Verdict()]++
	}
	var list []string
	for _, v := range verdicts {
		if counts[v] > 0 {
			list = append(list, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	return fmt.Sprintf("%s: %s", humanize.Count(len(members), "cluster"), strings.Join(list, ", "))
}

// WriteFleetPage writes one page of HTML about all clusters, the worst first: a table of all, and the
// problems of each cluster. Like Page, it loads no other resources.
func WriteFleetPage(to io.Writer, members []FleetCluster, now time.Time) error {
	SortFleet(members)
	return executeTemplate(to, "fleet.html", func(style template.CSS, script template.JS, policy string) any {
		return fleetPage{members, now, style, script, policy}
	})
}

// fleetPage is the data of the template.
type fleetPage struct {
	Members       []FleetCluster
	Now           time.Time
	Style         template.CSS
	Script        template.JS
	ContentPolicy string
}

// Headline counts the clusters.
func (p fleetPage) Headline() string { return FleetHeadline(p.Members) }

// Verdict returns the worst verdict.
func (p fleetPage) Verdict() string {
	if len(p.Members) == 0 {
		return "fine"
	}
	return p.Members[0].Verdict()
}

// Page returns the data for the page of a single cluster; nil where the cluster could not be read.
func (m FleetCluster) Page() *page {
	if m.Overview == nil {
		return nil
	}
	return &page{Overview: m.Overview}
}

// LabelList returns the labels of a cluster, sorted by name.
func (m FleetCluster) LabelList() (list []string) {
	for name, value := range m.Labels {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}
