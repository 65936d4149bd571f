package testrunner

import (
	"time"

	"shardsh/balancer/catalog"
)

// startPoint is the starting state of the clusters of a suite or a test.
type startPoint struct {
	start *clusterOptions
	// saved is a file with what before() made of it; empty for nothing.
	saved string
	// release is the one that was asked for, where the options name none.
	release catalog.Release
}

// withOptions returns where a suite or a test with options of its own begins; nil for none.
func (p startPoint) withOptions(own *clusterOptions) startPoint {
	if own == nil {
		return p
	}
	if own.isNewCluster {
		p.saved = ""
	}
	p.start = own.onRelease(p.release)
	return p
}

// onRelease returns the options on a release, where they name none.
func (s *clusterOptions) onRelease(release catalog.Release) *clusterOptions {
	if s.release == (catalog.Release{}) {
		own := *s
		own.release = release
		return &own
	}
	return s
}

// fixtures returns the scripts that are still to prepare a cluster, by the options of a
// suite or a test.
func (p startPoint) fixtures(own *clusterOptions) []string {
	switch {
	case own == nil:
		return nil
	case p.saved == "":
		return own.fixtures
	case own.fixture != "":
		return []string{own.fixture}
	}
	return nil
}

// timeout returns how much real time functions of a test may take.
func (p startPoint) timeout(byDefault time.Duration) time.Duration {
	if p.start.timeout > 0 {
		return time.Duration(p.start.timeout) * time.Millisecond
	}
	return byDefault
}

// releaseName returns how a result calls a release; empty for the present one that nobody
// asked for.
func releaseName(r catalog.Release) string {
	if r == (catalog.Release{}) {
		return ""
	}
	return r.String()
}
