export { type CertificatePair, makeCertificates, type TestCertificates } from './certificates.js';
export { makeTempDirectory, type TempDirectory } from './temp-directory.js';
