#define NGX_CARS_WAIT  30000

static ngx_conf_enum_t  ngx_http_cars_gears[] = {
    { ngx_string("low"), NGX_HTTP_CARS_LOW },
    { ngx_string("high"), NGX_HTTP_CARS_HIGH },
    { ngx_null_string, 0 }
};

static ngx_http_variable_t  ngx_http_cars_vars[] = {
    { ngx_string("car_speed"), NULL, ngx_http_cars_variable, 0, 0, 0 },
      ngx_http_null_variable
};

static ngx_str_t  ngx_http_cars_name = ngx_string("car_name");

static ngx_conf_bitmask_t  ngx_http_cars_doors[] = {
    { ngx_string("left"), NGX_HTTP_CARS_LEFT },
    { ngx_string("right"), NGX_HTTP_CARS_RIGHT },
    { ngx_null_string, 0 }
};

static ngx_command_t  ngx_http_cars_commands[] = {

    { ngx_string("car_wait"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_cars_loc_conf_t, road.wait),
      NULL },

#if (NGX_HTTP_CARS_EXTRA)
    /* { ngx_string("car_none"), a comment */
    { ngx_string("car_tow"),
      NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_cars_loc_conf_t, tow),
      NULL },
#endif

    { ngx_string("car_gear"),
      NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE13,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_cars_loc_conf_t, gear),
      &ngx_http_cars_gears },

    { ngx_string("car_doors"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_1MORE,
      ngx_conf_set_bitmask_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_cars_loc_conf_t, doors),
      &ngx_http_cars_doors },
{more}
      ngx_null_command
};

ngx_module_t  ngx_http_cars_module = {
    NGX_MODULE_V1,
    &ngx_http_cars_module_ctx,             /* module context */
    ngx_http_cars_commands,                /* module directives */
    NGX_HTTP_MODULE,
};

static char *
ngx_http_cars_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_cars_loc_conf_t *prev = parent;
    ngx_http_cars_loc_conf_t *conf = child;

    ngx_conf_merge_msec_value(conf->road.wait,
                              prev->road.wait, {wait});
    ngx_conf_merge_value(conf->tow, prev->tow, 0);
    ngx_conf_merge_uint_value(conf->gear, prev->gear, NGX_HTTP_CARS_HIGH);
    ngx_conf_merge_bitmask_value(conf->doors, prev->doors,
                              (NGX_CONF_BITMASK_SET|NGX_HTTP_CARS_LEFT
                               |NGX_HTTP_CARS_RIGHT));
    return NGX_CONF_OK;
}
