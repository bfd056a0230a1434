package knowledge

import "testing"

func TestWordsOfPeers(t *testing.T) {
	for text, want := range map[string]Trait{
		"Application timeout caused pair closure":                              PeerLeft,
		"oneCCL: allreduce: wait timed out after 600 s":                        WaitedInVain,
		"barrier 'epoch_end' timed out after 900.0 s (15 of 16 arrived)":       WaitedInVain,
		"MPI_Recv: rank 4 has not responded for 300 s":                         WaitedInVain,
		"ucp: endpoint to peer 10.0.0.3 reset, connection lost":                PeerLeft,
		"collective op 8812 waited more than 1800 s":                           WaitedInVain,
		"DEADLINE_EXCEEDED in all_gather(params)":                              WaitedInVain,
		"no heartbeat from peer group in 120 s":                                WaitedInVain,
		"lost contact with rank 5":                                             PeerLeft,
		"DataLoader timed out after 60 seconds":                                0,
		"Read timed out. (read timeout=60)":                                    0,
		"HTTPSConnectionPool(host='s3.x', port=443): Connection reset by peer": 0,
		"HTTP 500 from https://peer.example/rank: timed out":                   0,
		"loss is nan on rank 3":                                                0,
		"invalid rank 9: world size is 8":                                      0,
		"barrier called twice":                                                 0,
		"tensor of rank 4 was expected":                                        0,
		"Timed out waiting for lock file of rank 0":                            0,
		"Command '['git', 'send']' timed out after 5 seconds":                  0,
		"all_reduce got tensors of different sizes":                            0,
		"could not send metric to database: timed out":                         0,
		"cannot broadcast shapes (3,4) and (4,)":                               0,
	} {
		if got := OfPeers(text); got != want {
			t.Errorf("%q: %d, expected %d", text, got, want)
		}
	}
}
