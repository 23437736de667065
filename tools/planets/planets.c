/* tools/planets/planets.c: the Sun, the planets and Pluto as start values for examples/nbody.
 *
 * Writes one line of CSV per body: mass, position and velocity at the epoch, and the position a year later, all
 * from the ephemerides of libnova (VSOP87 for the planets, ELP 2000-82B for the Moon, Meeus' series for Pluto).
 * make_planets.sh compiles and runs it and puts the package's version into the header.
 *
 * Frame: heliocentric, ecliptic and equinox of J2000.0, which is what libnova's series give (the Earth's ecliptic
 * latitude in them drifts by 47" a century, as it must in a fixed frame). The Sun therefore stands at the origin
 * with velocity 0; a program that wants an inertial frame moves the origin to the barycentre of all the bodies.
 *
 * The Earth's line is the Earth-Moon barycentre: the planet alone circles it once a month with 12 m/s, and a body of
 * the mass of both, started with that velocity, would be 0.002 AU off after a year.
 *
 * Velocities are five-point central differences of the same positions. All steps are powers of two, so that the
 * Julian dates are exact. */
#include <libnova/libnova.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static const double EPOCH = 2451545.0;         /* J2000.0, TT */
static const double INTERVAL = 365.25;         /* days */
static const double STEP = 1.0 / 16;           /* days, of the differences */
static const double AU_KM = 149597870.7;       /* IAU 2012 resolution B2 */
static const double GAUSS = 0.01720209895;     /* IAU 1976: k; G = k^2 in AU, days and solar masses */
static const double MOON_EARTH = 0.0123000371; /* IAU 2009: mass of the Moon over that of the Earth */
static const double SUN_GM = 1.32712440041e20, EARTH_GM = 3.986004356e14; /* IAU 2009, TDB, m^3/s^2 */

struct vec3 {
    double x, y, z;
};

typedef void helio_function(double jd, struct ln_helio_posn *out);

struct planet {
    const char *name;
    helio_function *where; /* NULL: the Sun */
    double sun_ratio;      /* IAU 2009: mass of the Sun over the mass of the planet's system; 0: see mass_of */
};

static const struct planet planets[] = {
    { "Sun", NULL, 1.0 },
    { "Mercury", ln_get_mercury_helio_coords, 6.0236e6 },
    { "Venus", ln_get_venus_helio_coords, 4.08523719e5 },
    { "Earth-Moon", ln_get_earth_helio_coords, 0 },
    { "Mars", ln_get_mars_helio_coords, 3.09870359e6 },
    { "Jupiter", ln_get_jupiter_helio_coords, 1.047348644e3 },
    { "Saturn", ln_get_saturn_helio_coords, 3.4979018e3 },
    { "Uranus", ln_get_uranus_helio_coords, 2.290298e4 },
    { "Neptune", ln_get_neptune_helio_coords, 1.941226e4 },
    { "Pluto", ln_get_pluto_helio_coords, 1.36566e8 },
};

static double mass_of(const struct planet *p)
{
    return p->sun_ratio > 0 ? 1.0 / p->sun_ratio : EARTH_GM / SUN_GM * (1.0 + MOON_EARTH);
}

static struct vec3 rectangular(const struct ln_helio_posn *h)
{
    double l = h->L * M_PI / 180, b = h->B * M_PI / 180;
    return (struct vec3){ h->R * cos(b) * cos(l), h->R * cos(b) * sin(l), h->R * sin(b) };
}

/* The Moon as seen from the Earth, scaled to the way from the Earth to the common barycentre, in AU. */
static struct vec3 earth_to_barycentre(double jd)
{
    struct ln_rect_posn moon;
    double f = MOON_EARTH / (1.0 + MOON_EARTH) / AU_KM;
    ln_get_lunar_geo_posn(jd, &moon, 0);
    return (struct vec3){ f * moon.X, f * moon.Y, f * moon.Z };
}

static struct vec3 position(const struct planet *p, double jd)
{
    struct ln_helio_posn h;
    if (!p->where)
        return (struct vec3){ 0, 0, 0 };
    p->where(jd, &h);
    struct vec3 r = rectangular(&h);
    if (p->where == ln_get_earth_helio_coords) {
        struct vec3 d = earth_to_barycentre(jd);
        r = (struct vec3){ r.x + d.x, r.y + d.y, r.z + d.z };
    }
    return r;
}

static double difference(double m2, double m1, double p1, double p2)
{
    return (m2 - 8 * m1 + 8 * p1 - p2) / (12 * STEP);
}

static struct vec3 velocity(const struct planet *p, double jd)
{
    struct vec3 a = position(p, jd - 2 * STEP), b = position(p, jd - STEP);
    struct vec3 c = position(p, jd + STEP), d = position(p, jd + 2 * STEP);
    return (struct vec3){ difference(a.x, b.x, c.x, d.x), difference(a.y, b.y, c.y, d.y),
                          difference(a.z, b.z, c.z, d.z) };
}

static void print_header(const char *package)
{
    printf("# The Sun, the planets and Pluto: start values for examples/nbody, and where they are a year later.\n");
    printf("# script: tools/planets/make_planets.sh (tools/planets/planets.c)\n");
    printf("# package: %s (VSOP87, ELP 2000-82B, Meeus' Pluto)\n", package);
    printf("# epoch: JD %.1f TT (J2000.0)\n", EPOCH);
    printf("# interval_days: %.2f\n", INTERVAL);
    printf("# frame: heliocentric, ecliptic and equinox of J2000.0; the Sun is the origin (nbody moves it to the "
           "barycentre)\n");
    printf("# units: AU (%.1f km), days, solar masses; G = k^2, k = %.11f (Gauss)\n", AU_KM, GAUSS);
    printf("# masses: IAU 2009 system of astronomical constants (Luzum et al. 2011): Sun over planetary system;\n");
    printf("#   Earth-Moon from GM(Sun) %.11e, GM(Earth) %.9e m^3/s^2 (TDB) and Moon/Earth %.10f\n", SUN_GM, EARTH_GM,
           MOON_EARTH);
    printf("# Earth-Moon is the barycentre of both. Velocities: five-point central differences of the positions, step "
           "%g d\n",
           STEP);
    printf("name,mass,x,y,z,vx,vy,vz,x_after,y_after,z_after\n");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: planets PACKAGE_AND_VERSION\n");
        return EXIT_FAILURE;
    }
    print_header(argv[1]);
    for (size_t i = 0; i < sizeof planets / sizeof planets[0]; i++) {
        const struct planet *p = &planets[i];
        struct vec3 r = position(p, EPOCH), v = velocity(p, EPOCH), e = position(p, EPOCH + INTERVAL);
        printf("%s,%.12e,%.15e,%.15e,%.15e,%.12e,%.12e,%.12e,%.12e,%.12e,%.12e\n", p->name, mass_of(p), r.x, r.y, r.z,
               v.x, v.y, v.z, e.x, e.y, e.z);
    }
    return EXIT_SUCCESS;
}
