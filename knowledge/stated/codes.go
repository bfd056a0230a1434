package stated

import "faultline/knowledge"

// vocabulary is a public list of codes. A code that says only that something failed is not in its table.
type vocabulary struct {
	name, source string
	// after are expressions whose group is a code: where the code alone would be a common word or number. nil: the codes are unmistakable.
	after []string
	// wide: a code names a kind of error of which the words behind it say more.
	wide  bool
	store bool
	codes map[knowledge.ID]string // separated by spaces
}

// vocabularies are asked in order; the first code that one of them knows decides.
var vocabularies = []vocabulary{
	{
		name: "S3", store: true, source: "Amazon S3 API reference, error responses; AWS STS and common errors",
		codes: map[knowledge.ID]string{
			knowledge.StatesClock: "RequestTimeTooSkewed RequestInTheFuture",
			knowledge.StatesCredentials: "InvalidAccessKeyId SignatureDoesNotMatch ExpiredToken ExpiredTokenException InvalidToken TokenRefreshRequired MissingAuthenticationToken " +
				"AuthorizationHeaderMalformed InvalidClientTokenId UnrecognizedClientException CredentialsNotSupported InvalidSecurity MissingSecurityHeader MissingSecurityElement " +
				"TokenCodeInvalidError NotSignedUp AccountProblem RequestExpired InvalidSessionException",
			knowledge.StatesPermission: "AccessDenied AccessDeniedException AllAccessDisabled UnauthorizedAccess UnauthorizedAccessError InvalidObjectState MethodNotAllowed InvalidPayer",
			knowledge.StatesMissing: "NoSuchKey NoSuchBucket NoSuchVersion NoSuchUpload NoSuchAccessPoint EndpointNotFound NoSuchBucketPolicy NoSuchLifecycleConfiguration " +
				"NoSuchTagSet NoSuchCORSConfiguration NoSuchWebsiteConfiguration",
			knowledge.StatesDamaged: "BadDigest IncompleteBody InvalidDigest XAmzContentSHA256Mismatch XAmzContentChecksumMismatch",
			knowledge.StatesThrottled: "SlowDown ThrottlingException Throttling RequestLimitExceeded TooManyRequestsException ProvisionedThroughputExceededException " +
				"BandwidthLimitExceeded RequestThrottled",
			knowledge.StatesUnreachable: "InternalFailure ServerBusy RequestTimeoutException ResponseInterrupted",
			knowledge.StatesArgument:    "InvalidBucketName KeyTooLongError EntityTooLarge EntityTooSmall InvalidPart InvalidPartOrder InvalidRange MetadataTooLarge MalformedXML InvalidURI IllegalLocationConstraintException",
			knowledge.StatesFull:        "StorageFull XMinioStorageFull QuotaExceededException",
		},
	},
	{
		name: "S3", store: true, source: "Amazon S3 API reference, error responses: codes that are names elsewhere, too",
		after: []string{`error occurred \((\w+)\)`, `<Code>(\w+)</Code>`, `\b[Ee]rror ?[Cc]ode[:=] ?"?(\w+)`, `AWS Error (\w+)`},
		codes: map[knowledge.ID]string{
			knowledge.StatesUnreachable: "InternalError ServiceUnavailable RequestTimeout OperationAborted 500 502 503 504 NETWORK_CONNECTION INTERNAL_FAILURE SERVICE_UNAVAILABLE REQUEST_TIMEOUT",
			knowledge.StatesArgument:    "InvalidArgument InvalidRequest 400",
			knowledge.StatesPermission:  "Forbidden 403 ACCESS_DENIED",
			knowledge.StatesCredentials: "Unauthorized 401 INVALID_ACCESS_KEY_ID SIGNATURE_DOES_NOT_MATCH EXPIRED_TOKEN",
			knowledge.StatesMissing:     "NotFound 404 NO_SUCH_KEY NO_SUCH_BUCKET RESOURCE_NOT_FOUND",
			knowledge.StatesThrottled:   "429 SLOW_DOWN THROTTLING",
			knowledge.StatesClock:       "REQUEST_TIME_TOO_SKEWED",
		},
	},
	{
		name: "Azure Storage", store: true, source: "Azure Storage REST API, common and blob service error codes",
		codes: map[knowledge.ID]string{
			knowledge.StatesCredentials: "AuthenticationFailed InvalidAuthenticationInfo NoAuthenticationInformation AccountIsDisabled",
			knowledge.StatesPermission:  "InsufficientAccountPermissions AuthorizationFailure AuthorizationPermissionMismatch AuthorizationSourceIPMismatch PublicAccessNotPermitted BlobArchived",
			knowledge.StatesMissing:     "BlobNotFound ContainerNotFound ResourceNotFound PathNotFound FilesystemNotFound ContainerBeingDeleted",
			knowledge.StatesDamaged:     "Md5Mismatch Crc64Mismatch InvalidMd5 InvalidBlobOrBlock",
			knowledge.StatesUnreachable: "OperationTimedOut",
		},
	},
	{
		name: "gRPC", wide: true, source: "gRPC status codes, google.rpc.Code; Abseil StatusCode as XLA and TensorFlow print it",
		after: []string{`StatusCode\.(\w+)`, `\bcode ?= ?(\w+)`, `\bgrpc_status:? ?(\w+)`, `(?:^|[\s"(])([A-Z][A-Z_]{6,}): `},
		codes: map[knowledge.ID]string{
			knowledge.StatesThrottled:   "RESOURCE_EXHAUSTED ResourceExhausted",
			knowledge.StatesCredentials: "UNAUTHENTICATED Unauthenticated",
			knowledge.StatesPermission:  "PERMISSION_DENIED PermissionDenied",
			knowledge.StatesMissing:     "NOT_FOUND NotFound",
			knowledge.StatesDamaged:     "DATA_LOSS DataLoss",
			knowledge.StatesUnreachable: "UNAVAILABLE Unavailable DEADLINE_EXCEEDED DeadlineExceeded",
			knowledge.StatesArgument:    "INVALID_ARGUMENT InvalidArgument OUT_OF_RANGE OutOfRange",
			knowledge.StatesVersion:     "UNIMPLEMENTED Unimplemented",
		},
	},
	{
		name: "HTTP", wide: true, source: "RFC 9110, RFC 6585, RFC 4918",
		after: []string{`\bHTTP(?:/[\d.]+)?(?: [Ee]rror| status)?(?: code)?[ :=]+(\d{3})\b`, `\b[Ss]tatus(?:[ _]?[Cc]ode)?[ :=]+(\d{3})\b`, `\b(\d{3}) (?:Client|Server) Error\b`,
			`\bHTTPError: (\d{3})\b`, `(?i)\b(\d{3})[ ,:-]+(?:unauthorized|forbidden|not found|request timeout|payload too large|too many requests|internal server error|bad gateway|service unavailable|gateway time-?out|insufficient storage)\b`},
		codes: map[knowledge.ID]string{
			knowledge.StatesCredentials: "401 407 511",
			knowledge.StatesPermission:  "403 451",
			knowledge.StatesMissing:     "404 410",
			knowledge.StatesThrottled:   "429",
			knowledge.StatesUnreachable: "408 500 502 503 504 521 522 523 524",
			knowledge.StatesFull:        "507",
			knowledge.StatesVersion:     "426 505",
			knowledge.StatesArgument:    "400 413 414 416 422",
		},
	},
	{
		name: "errno", source: knowledge.ErrnoSource,
		codes: map[knowledge.ID]string{
			knowledge.StatesPermission:  "EACCES EPERM EROFS",
			knowledge.StatesMissing:     "ENOENT ENOTDIR ENXIO ENODEV",
			knowledge.StatesDamaged:     "EBADMSG EUCLEAN EILSEQ",
			knowledge.StatesFull:        "ENOSPC EDQUOT",
			knowledge.StatesLimit:       "EMFILE ENFILE EUSERS EMLINK",
			knowledge.StatesMemory:      "ENOMEM",
			knowledge.StatesCredentials: "EKEYEXPIRED EKEYREVOKED EKEYREJECTED ENOKEY",
			knowledge.StatesUnreachable: "ETIMEDOUT ECONNREFUSED EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN ESHUTDOWN ESTALE EREMOTEIO",
			knowledge.StatesName:        "EAI_NONAME EAI_AGAIN EAI_NODATA EAI_FAIL",
			knowledge.StatesArgument:    "EFBIG E2BIG ENAMETOOLONG EOVERFLOW",
			knowledge.StatesVersion:     "EPROTO EPROTONOSUPPORT ENOEXEC ELIBBAD ELIBVER",
		},
	},
	{
		name: "errno", wide: true, source: knowledge.ErrnoSource,
		after: []string{`(?i)\berrno[ :=]+(\d{1,3})\b`, `\(os error (\d{1,3})\)`},
		codes: map[knowledge.ID]string{
			knowledge.StatesPermission: "1 13 30", knowledge.StatesMissing: "2 6 19 20", knowledge.StatesDamaged: "74 84 117", knowledge.StatesFull: "28 122",
			knowledge.StatesLimit: "23 24 87", knowledge.StatesMemory: "12", knowledge.StatesCredentials: "126 127 128 129",
			knowledge.StatesUnreachable: "108 110 111 112 113 100 101 116 121", knowledge.StatesArgument: "7 27 36 75", knowledge.StatesVersion: "8 71 93",
		},
	},
	{
		name: "OpenSSL", source: "OpenSSL x509_txt.c, ssl_err.c; RFC 8446 alerts",
		codes: map[knowledge.ID]string{
			knowledge.StatesCertificate: "X509_V_ERR_CERT_HAS_EXPIRED X509_V_ERR_CERT_NOT_YET_VALID X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY " +
				"X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE X509_V_ERR_CERT_REVOKED X509_V_ERR_INVALID_CA " +
				"X509_V_ERR_HOSTNAME_MISMATCH X509_V_ERR_IP_ADDRESS_MISMATCH X509_V_ERR_CERT_UNTRUSTED X509_V_ERR_CERT_REJECTED X509_V_ERR_CRL_HAS_EXPIRED " +
				"CERTIFICATE_VERIFY_FAILED SSLV3_ALERT_CERTIFICATE_EXPIRED SSLV3_ALERT_CERTIFICATE_UNKNOWN SSLV3_ALERT_CERTIFICATE_REVOKED SSLV3_ALERT_BAD_CERTIFICATE TLSV1_ALERT_UNKNOWN_CA " +
				"TLSV13_ALERT_CERTIFICATE_REQUIRED SSLCertVerificationError CERT_HAS_EXPIRED",
			knowledge.StatesVersion: "UNSUPPORTED_PROTOCOL TLSV1_ALERT_PROTOCOL_VERSION WRONG_VERSION_NUMBER NO_SHARED_CIPHER SSLV3_ALERT_HANDSHAKE_FAILURE",
		},
	},
	{
		name: "Kerberos", source: "RFC 4120 section 7.5.9; MIT krb5 error tables",
		codes: map[knowledge.ID]string{
			knowledge.StatesClock: "KRB_AP_ERR_SKEW KRB5KRB_AP_ERR_SKEW KRB_AP_ERR_TKT_NYV KRB5KRB_AP_ERR_TKT_NYV KRB5KDC_ERR_NEVER_VALID KDC_ERR_CANNOT_POSTDATE",
			knowledge.StatesCredentials: "KRB_AP_ERR_TKT_EXPIRED KRB5KRB_AP_ERR_TKT_EXPIRED KDC_ERR_PREAUTH_FAILED KRB5KDC_ERR_PREAUTH_FAILED KDC_ERR_KEY_EXPIRED KRB5KDC_ERR_KEY_EXP " +
				"KDC_ERR_C_PRINCIPAL_UNKNOWN KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN KRB5_FCC_NOFILE KRB5_CC_NOTFOUND KRB_AP_ERR_MODIFIED KRB5KRB_AP_ERR_MODIFIED KDC_ERR_CLIENT_REVOKED KRB5KDC_ERR_CLIENT_REVOKED",
			knowledge.StatesUnreachable: "KRB5_KDC_UNREACH KRB5_REALM_UNKNOWN",
			knowledge.StatesVersion:     "KDC_ERR_ETYPE_NOSUPP KRB5KDC_ERR_ETYPE_NOSUPP KRB_AP_ERR_BADVERSION",
		},
	},
	{
		name: "CUDA", source: "CUDA runtime and driver API, cudaError_t and CUresult; HIP hipError_t",
		codes: map[knowledge.ID]string{
			knowledge.StatesGPUMemory: "cudaErrorMemoryAllocation CUDA_ERROR_OUT_OF_MEMORY hipErrorOutOfMemory hipErrorMemoryAllocation CUBLAS_STATUS_ALLOC_FAILED CUDNN_STATUS_ALLOC_FAILED",
			knowledge.StatesVersion: "cudaErrorInsufficientDriver cudaErrorNoKernelImageForDevice CUDA_ERROR_NO_BINARY_FOR_GPU CUDA_ERROR_UNSUPPORTED_PTX_VERSION cudaErrorUnsupportedPtxVersion " +
				"cudaErrorSystemDriverMismatch CUDA_ERROR_SYSTEM_DRIVER_MISMATCH cudaErrorCompatNotSupportedOnDevice cudaErrorJitCompilerNotFound cudaErrorCallRequiresNewerDriver " +
				"hipErrorNoBinaryForGpu hipErrorInsufficientDriver CUDNN_STATUS_VERSION_MISMATCH CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
			knowledge.StatesAccelerator: "cudaErrorIllegalAddress cudaErrorMisalignedAddress cudaErrorIllegalInstruction cudaErrorLaunchFailure cudaErrorLaunchTimeout cudaErrorECCUncorrectable " +
				"cudaErrorNvlinkUncorrectable cudaErrorHardwareStackError cudaErrorDevicesUnavailable cudaErrorInvalidPc cudaErrorInvalidAddressSpace cudaErrorSystemNotReady cudaErrorContained " +
				"CUDA_ERROR_ILLEGAL_ADDRESS CUDA_ERROR_MISALIGNED_ADDRESS CUDA_ERROR_ILLEGAL_INSTRUCTION CUDA_ERROR_LAUNCH_FAILED CUDA_ERROR_LAUNCH_TIMEOUT CUDA_ERROR_ECC_UNCORRECTABLE " +
				"CUDA_ERROR_NVLINK_UNCORRECTABLE CUDA_ERROR_HARDWARE_STACK_ERROR CUDA_ERROR_INVALID_PC CUDA_ERROR_SYSTEM_NOT_READY CUDA_ERROR_DEVICE_UNAVAILABLE CUDA_ERROR_CONTAINED " +
				"hipErrorIllegalAddress hipErrorLaunchFailure hipErrorECCNotCorrectable hipErrorIllegalState hipErrorLaunchTimeOut",
			knowledge.StatesArgument: "cudaErrorInvalidValue cudaErrorInvalidConfiguration cudaErrorInvalidDevice cudaErrorLaunchOutOfResources cudaErrorInvalidPitchValue cudaErrorAssert CUDA_ERROR_INVALID_VALUE " +
				"CUDA_ERROR_INVALID_DEVICE CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES CUDA_ERROR_ASSERT hipErrorInvalidValue hipErrorInvalidConfiguration hipErrorInvalidDevice hipErrorAssert",
		},
	},
	{
		name: "NCCL", source: "NCCL nccl.h, ncclResult_t",
		codes: map[knowledge.ID]string{knowledge.StatesArgument: "ncclInvalidArgument ncclInvalidUsage"},
	},
	{
		name: "SQLSTATE", source: "ISO 9075 classes; PostgreSQL appendix A",
		after: []string{`SQLSTATE\W{1,3}(\w{5})\b`},
		codes: map[knowledge.ID]string{
			knowledge.StatesLimit:       "53300 53400 54000 54001 54011 54023",
			knowledge.StatesFull:        "53100",
			knowledge.StatesMemory:      "53200",
			knowledge.StatesCredentials: "28000 28P01",
			knowledge.StatesPermission:  "42501 25006",
			knowledge.StatesMissing:     "3D000 3F000 42P01 42703 42883 58P01",
			knowledge.StatesDamaged:     "XX001 XX002",
			knowledge.StatesUnreachable: "08000 08001 08003 08004 08006 57P01 57P02 57P03 57014",
			knowledge.StatesArgument:    "22001 22003 22012 22023 22P02 23502 23503 23505 42601",
		},
	},
	{
		name: "Kubernetes", source: "Kubernetes pkg/kubelet/events, container and pod status reasons",
		codes: map[knowledge.ID]string{
			knowledge.StatesMemory:      "OOMKilled",
			knowledge.StatesMissing:     "ErrImageNeverPull InvalidImageName CreateContainerConfigError",
			knowledge.StatesFull:        "FreeDiskSpaceFailed EvictedByDiskPressure",
			knowledge.StatesUnreachable: "RegistryUnavailable NodeNotReady FailedAttachVolume",
		},
	},
	{
		name: "HDFS", store: true, source: "Apache Hadoop org.apache.hadoop.hdfs.protocol, security, ipc",
		codes: map[knowledge.ID]string{
			knowledge.StatesFull:        "DSQuotaExceededException NSQuotaExceededException DiskOutOfSpaceException",
			knowledge.StatesPermission:  "AccessControlException",
			knowledge.StatesDamaged:     "ChecksumException BlockMissingException CorruptFileBlocksException",
			knowledge.StatesUnreachable: "StandbyException NoRouteToHostException RetriableException",
			knowledge.StatesCredentials: "KerberosAuthException GSSException",
			knowledge.StatesVersion:     "VersionMismatch RpcNoSuchProtocolException UnsupportedClassVersionError",
		},
	},
}
