package knowledge

import "faultline/pattern"

// What a message that no entry knows says of other processes of the job. Whoever waited for them, or lost one, is not at fault: every library
// that joins processes has such messages, each in its own words.

var (
	// ofPeers finds what only processes of one job do together, or have to do with one another.
	ofPeers = pattern.New(`(?i)\bpeers?\b|\b(?:global |local )?ranks?\b|\bcollectives?\b|\bbarriers?\b|\ball[-_ ]?(?:reduce|gather|to[-_ ]?all)|\breduce[-_ ]?scatter|\bbroadcast|\brendezvous\b|\bparticipants?\b|\b(?:ir?recv|isend|sendrecv|recv|send)\b|\bother (?:process(?:es)?|workers?|tasks?|nodes?|hosts?|members?)\b|\bpair\b`)
	// inVain finds the words for a wait that did not end.
	inVain = pattern.New(`(?i)\btim(?:ed?|ing)[- _]?out\b|\bdeadline[ _]?exceeded\b|\bgave up (?:on )?wait|\bgiving up wait|\bwaited (?:for )?(?:more than |over |too long|\d)|\b(?:did|has|have)(?: not|n't) (?:arrived?|joined?|shown? up|reach(?:ed)?|respond(?:ed)?|answer(?:ed)?|check(?:ed)? in|complete[ds]?)\b|\bno (?:heartbeat|response|answer|message)\b`)
	// left finds the words for a connection that another one ended.
	left = pattern.New(`(?i)\b(?:connection|socket|channel|pair|link|stream|endpoint)s?\b.{0,40}\b(?:closed|closure|reset|lost|dropped|broken|severed|torn down)\b|\b(?:lost|closed|dropped|broken)\b.{0,20}\b(?:connection|contact|channel|link)\b|\b(?:peer|remote (?:end|side|process|rank|host)|rank \d+)\b.{0,30}\b(?:closed|disconnected|gone|died|dead|exited|hung up|disappeared|left|unreachable)\b|\bbroken pipe\b`)
	// ofService finds what is no process of the job: a store or a server that was asked, and what a process starts for itself.
	ofService = pattern.New(`(?i)://|\bhttps?\b|\bhttp/|\burl|\bs3\b|\bbuckets?\b|\bdownload|\bupload|\bdatabase\b|\bsql|\bredis\b|\bmongo|\bkafka\b|\bdata ?loader\b|\bsubprocess\b|\bcommand\b|\bapi\b|\bobjects?\b|\bfiles?\b|\block\b`)
)

// OfPeers says what a message tells of other processes of the job, 0 where it tells nothing of them.
func OfPeers(message string) Trait {
	if !ofPeers.MatchString(message) || ofService.MatchString(message) {
		return 0
	}
	switch {
	case left.MatchString(message):
		return PeerLeft
	case inVain.MatchString(message):
		return WaitedInVain
	}
	return 0
}
