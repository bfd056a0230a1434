package fabric

import (
	"strings"

	"faultline/analysis/ascii"
)

// Class says what a counter that grows means.
type Class int

const (
	Unknown    Class = iota
	Traffic          // work done: no error
	Damage           // the link itself loses or repairs bits
	Flap             // the link went down or was trained anew
	Congestion       // packets waited or were dropped because somebody is too slow or too many send
	Elsewhere        // the error is on another link, or of another kind than the fabric
	Setup            // partitions, routes or packet sizes do not fit
	Lost             // the transport had to send again: the path loses packets, somewhere
)

// Meaning is what is known of a counter.
type Meaning struct {
	Class Class
	Title string
	Means string
	Look  string // which end to look at
	// PerHour is how much growth in an hour is still normal.
	PerHour float64
	// Bits is how wide the counter is where it is counted in the old set of the fabric's management: there it stops at its largest value.
	Bits int
}

// meanings by name: in small letters, without anything between them. Sources: InfiniBand Architecture Specification 1.4, volume 1, 16.1.3
// (PortCounters: widths, and that they stop at the largest value), sysfs-class-infiniband (Linux), "Understanding mlx5 ethtool
// counters" and "InfiniBand port counters" of the vendor, net/core (struct rtnl_link_stats64).
var meanings = func() map[string]Meaning {
	out := map[string]Meaning{}
	add := func(m Meaning, names ...string) {
		for _, n := range names {
			out[n] = m
		}
	}
	const optics = "cable, connectors and optics of this link, at both its ends"
	add(Meaning{Damage, "symbol errors", "bits arrived damaged at this port", optics, 10, 16}, "symbolerrorcounter", "symbolerrors", "symbolerror", "rxsymbolerrphy", "rxpcssymbolerrphy")
	add(Meaning{Flap, "link recoveries", "the link lost its training and repaired itself", optics, 0, 8}, "linkerrorrecoverycounter", "linkrecovers", "linkerrorrecovery")
	add(Meaning{Flap, "link downs", "the link failed to repair itself and went down", optics + ", and whether the other end restarted", 0, 8}, "linkdownedcounter", "linkdowned", "linkdowneventsphy")
	add(Meaning{Damage, "packets received with errors", "packets arrived damaged at this port", "what sends to this port: the other end and the cable", 0, 16}, "portrcverrors", "rcverrors", "portrcverr")
	add(Meaning{Elsewhere, "packets marked bad by others", "packets arrived that a link before this one had damaged", "the links behind the other end, not this one", 0, 16}, "portrcvremotephysicalerrors", "rcvremotephyserrors", "portrcvremotephysicalerr")
	add(Meaning{Elsewhere, "packets a switch did not relay", "a switch dropped packets it could not forward; multicast does that on a healthy fabric", "nothing as such", 0, 16}, "portrcvswitchrelayerrors", "rcvswrelayerrors", "portrcvswitchrelayerror")
	add(Meaning{Congestion, "packets discarded on sending", "packets were dropped because they could not be sent in time", "where this port sends to: the far end is slow, blocked or down", 0, 16}, "portxmitdiscards", "portxmtdiscards", "xmtdiscards", "portxmitdiscard", "txdiscardsphy", "txdropped")
	add(Meaning{Setup, "packets refused by rules", "packets were refused by partition or filter", "partition keys", 0, 8}, "portxmitconstrainterrors", "portrcvconstrainterrors", "xmtconstrainterrors", "rcvconstrainterrors", "portxmitconstrainterror", "portrcvconstrainterror")
	add(Meaning{Damage, "local link integrity errors", "errors at this port came faster than the link allows", optics, 0, 4}, "locallinkintegrityerrors", "locallinkintegrityerror", "linkintegrityerrors")
	add(Meaning{Congestion, "buffer overruns", "the other end sent without credit, repeatedly", "firmware and flow control of both ends", 0, 4}, "excessivebufferoverrunerrors", "excessivebufferoverrunerror", "excbufoverrunerrors")
	add(Meaning{Elsewhere, "management packets dropped", "packets of the fabric's management were dropped; harmless", "nothing", 0, 16}, "vl15dropped")
	add(Meaning{Elsewhere, "management packets dropped", "packets of the fabric's management were dropped; harmless", "nothing", 0, 16}, "qp1dropped", "qp1drops")
	add(Meaning{Congestion, "ticks waited to send", "packets waited for credit; normal under load", "who receives slowly", -1, 32}, "portxmitwait", "xmtwait")

	add(Meaning{Damage, "frames with a wrong checksum", "frames arrived damaged at this port", optics, 0, 0}, "rxcrcerrorsphy", "rxcrcerrors", "rxcrc")
	add(Meaning{Damage, "frames received with errors", "frames arrived that could not be used", "the other end and the cable; the driver's counters tell the kind", 0, 0}, "rxerrors", "rxframeerrors", "rxframe", "rxlengtherrors", "rxlength")
	add(Meaning{Flap, "changes of the carrier", "the link went up or down", optics, 0, 0}, "txtranns", "txtransns", "rxtransns", "carrierchanges")
	add(Meaning{Flap, "frames lost with the carrier", "the link went away while frames were sent", optics, 0, 0}, "txcarrier", "txcarriererrors")
	add(Meaning{Congestion, "frames dropped on arrival", "frames were dropped for want of room, or because nobody wanted them", "buffers and load of this host", -1, 0}, "rxdropped", "rxmissed", "rxmissederrors", "rxoverrun", "rxovererrors", "rxfifo", "rxfifoerrors", "rxdiscardsphy", "rxoutofbuffer", "outofbuffer")
	add(Meaning{Elsewhere, "frames not sent", "frames could not be sent", "driver and load of this host", 0, 0}, "txerrors", "txaborted", "txfifo", "txwindow", "txheartbt", "txerrorsphy")
	add(Meaning{Congestion, "pauses", "this port was told to wait, or told others to; normal under load where flow control is on", "who is slow", -1, 0}, "rxpausectrlphy", "txpausectrlphy", "rxglobalpause", "txglobalpause", "rpcnphandled", "npcnpsent", "npecnmarkedrocepackets")
	add(Meaning{Lost, "requests sent again after silence", "the other side did not answer in time, and the adapter sent again", "the path between the two, both ends and the switches", 0, 0}, "localacktimeouterr", "roceadpretransto", "roceadpretrans")
	add(Meaning{Lost, "packets out of sequence", "packets were lost or overtaken on the way to this port", "the path to this port", 0, 0}, "outofsequence", "packetseqerr", "roceslowrestart")
	add(Meaning{Congestion, "receiver not ready", "the other side had no buffer posted", "the program at the other end", 0, 0}, "rnrnakretryerr", "rxwriterequestsrnr", "rnrnak")
	add(Meaning{Traffic, "", "", "", 0, 32}, "portxmitdata", "portrcvdata", "portxmitpkts", "portrcvpkts", "portxmitpackets", "portrcvpackets")
	add(Meaning{Traffic, "", "", "", 0, 0}, "portunicastxmitpkts", "portunicastrcvpkts", "portmulticastxmitpkts", "portmulticastrcvpkts", "unicastxmitpackets", "unicastrcvpackets",
		"multicastxmitpackets", "multicastrcvpackets", "rxbytes", "rxpackets", "txbytes", "txpackets", "rxbytesphy", "txbytesphy", "rxpacketsphy", "txpacketsphy", "rxwriterequests", "rxreadrequests")
	return out
}()

// MeaningOf looks a counter up by its name as any tool writes it.
func MeaningOf(name string) (Meaning, bool) {
	m, ok := meanings[plain(name)]
	return m, ok
}

func plain(name string) string {
	var b strings.Builder
	for i := 0; i < len(name) && i < 64; i++ {
		c := name[i]
		switch {
		case ascii.Upper(c):
			b.WriteByte(c + 'a' - 'A')
		case ascii.Lower(c), ascii.Digit(c):
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Stuck says that a counter stands at the largest value of its width: it stopped there, and how much more there was is lost.
func (r *Reading) Stuck() bool {
	m, ok := MeaningOf(r.Name)
	if !ok || m.Bits == 0 || r.Tool != "perfquery" && r.Tool != "ibqueryerrors" && r.Tool != "sysfs" {
		return false
	}
	return m.Bits < 64 && r.Value == 1<<m.Bits-1
}

// Healthy states: what a port that works says of itself.
func (p *Port) Up() bool {
	switch {
	case p.NoCarrier:
		return false
	case p.State.Word != "" && p.Phys.Word != "":
		return word(p.State.Word) == "active" && word(p.Phys.Word) == "linkup"
	case p.State.Word != "":
		w := word(p.State.Word)
		return w == "active" || w == "up" || w == "yes"
	}
	return true
}

// Down says that a port is not up by its own words, as opposed to not saying.
func (p *Port) Down() bool {
	switch word(p.State.Word) {
	case "down", "lowerlayerdown", "no":
		return true
	}
	return p.NoCarrier
}

func word(s string) string { return plain(s) }
