package bindings

// Codes of server errors that helpers act on (spec 03 §5).
const (
	codeFailedToParse           = 9
	codeNamespaceNotFound       = 26
	codeCommandNotFound         = 59
	codeMaxTimeMSExpired        = 50
	codeStaleConfig             = 13388
	codeRecvStaleConfig         = 9996
	codeNotPrimaryNoSecondaryOk = 13435
	codeUnknownStage            = 40324
)
