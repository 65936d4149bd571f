package server

// Codes of server errors that helpers act on (rules/03-catalog-and-keys §5).
const (
	FailedToParse               = 9
	NamespaceNotFound           = 26
	CommandNotFound             = 59
	MaxTimeMSExpired            = 50
	StaleConfig                 = 13388
	RecvStaleConfig             = 9996
	codeNotPrimaryNoSecondaryOk = 13435
	UnknownStage                = 40324
)
