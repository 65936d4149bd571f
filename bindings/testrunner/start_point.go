package testrunner

import (
	"time"

	"shardsh/balancer/catalog"
)

// startPoint is the initial state of the clusters of a suite or a test.
type startPoint struct {
	clusterOptions *clusterOptions
	// saved is a file with the state after before(); empty without one.
	saved string
	// release is the requested release, if the options specify none.
	release catalog.Release
}

// withOptions returns the start point of a suite or a test with its own options, which may be nil.
func (p startPoint) withOptions(own *clusterOptions) startPoint {
	if own == nil {
		return p
	}
	if own.isNewCluster {
		p.saved = ""
	}
	p.clusterOptions = own.withRelease(p.release)
	return p
}

// withRelease returns the options with a release, if they specify none.
func (c *clusterOptions) withRelease(release catalog.Release) *clusterOptions {
	if c.release == (catalog.Release{}) {
		own := *c
		own.release = release
		return &own
	}
	return c
}

// fixtures returns the scripts that have yet to prepare a cluster, by the options of a suite or a test.
func (p startPoint) fixtures(own *clusterOptions) []string {
	switch {
	case own == nil:
		return nil
	case p.saved == "":
		return own.fixtures
	case own.ownFixture != "":
		return []string{own.ownFixture}
	}
	return nil
}

// timeout returns the limit of real time for functions of a test.
func (p startPoint) timeout(byDefault time.Duration) time.Duration {
	if p.clusterOptions.timeoutMillis > 0 {
		return time.Duration(p.clusterOptions.timeoutMillis) * time.Millisecond
	}
	return byDefault
}

// releaseName returns the name of a release in results; empty for the default release.
func releaseName(r catalog.Release) string {
	if r == (catalog.Release{}) {
		return ""
	}
	return r.String()
}
