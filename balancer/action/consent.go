package action

// Consent says under which conditions a run may change the cluster.
type Consent struct {
	// Audit is where changes are written down: a file, audit.ToSyslog or audit.ToCluster;
	// empty is nowhere.
	Audit string
}
