/* The regular round of FORKS, written by hand: Gaussian features, hinge loss, online Newton step
 * with the formula of Sherman and Morrison on the inverse of A. Everything is double.
 *
 * X          n x d                     landmarks  d x stride, landmark i in column i < s_m
 * y, scores  n                         Z          s_m x k
 * w          k, changed                inverse    k x k, A^-1, changed
 * work       s_m + 2 k
 * gamma      1 / (2 bandwidth^2)
 */
#include <math.h>

void regular_rounds(long n, long d, long s_m, long k, long stride, const double *restrict X,
                    const double *restrict y, const double *restrict landmarks,
                    const double *restrict Z, double gamma, double step_size, double curvature,
                    double *restrict w, double *restrict inverse, double *restrict scores,
                    double *restrict work)
{
    double *restrict row = work, *restrict phi = work + s_m, *restrict u = phi + k;
    for (long t = 0; t < n; t++) {
        const double *restrict x = X + t * d;
        for (long i = 0; i < s_m; i++)
            row[i] = 0.0;
        for (long j = 0; j < d; j++) {
            const double *restrict column = landmarks + j * stride;
            for (long i = 0; i < s_m; i++) {
                double difference = x[j] - column[i];
                row[i] += difference * difference;
            }
        }
        for (long i = 0; i < s_m; i++)
            row[i] = exp(-gamma * row[i]);
        for (long j = 0; j < k; j++)
            phi[j] = 0.0;
        for (long i = 0; i < s_m; i++)
            for (long j = 0; j < k; j++)
                phi[j] += row[i] * Z[i * k + j];
        double score = 0.0;
        for (long j = 0; j < k; j++)
            score += w[j] * phi[j];
        scores[t] = score;
        if (y[t] * score >= 1.0)
            continue;
        /* g = gain phi, A += curvature g g', w -= A^-1 g */
        double gain = -step_size * y[t], q = 0.0;
        for (long i = 0; i < k; i++) {
            double sum = 0.0;
            for (long j = 0; j < k; j++)
                sum += inverse[i * k + j] * phi[j];
            u[i] = sum;
            q += sum * phi[i];
        }
        double c = curvature * gain * gain, grown = 1.0 + c * q;
        for (long i = 0; i < k; i++) {
            double share = c / grown * u[i];
            for (long j = 0; j < k; j++)
                inverse[i * k + j] -= share * u[j];
        }
        for (long j = 0; j < k; j++)
            w[j] -= gain / grown * u[j];
    }
}
